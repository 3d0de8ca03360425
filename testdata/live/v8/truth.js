// Functions that say where they were called, as V8 itself sees it.
'use strict';
exports.stack = function stack() {
  const limit = Error.stackTraceLimit, prepare = Error.prepareStackTrace;
  Error.stackTraceLimit = Infinity;
  Error.prepareStackTrace = (_, sites) => sites
    .filter((s) => !(s.isAsync && s.isAsync()))
    .map((s) => [s.getFunctionName() || '', s.getFileName() || '', s.getLineNumber() || 0]);
  const sites = new Error().stack;
  Error.stackTraceLimit = limit;
  Error.prepareStackTrace = prepare;
  return sites.slice(1);
};
exports.ready = function ready(sites) {
  require('fs').writeSync(1, JSON.stringify({ stack: sites || [] }) + '\n');
};
// once calls f the first time alone: the hot code behind it stays the same.
let said = false;
exports.say = function say() {
  if (!said) {
    said = true;
    exports.ready(exports.stack().slice(1));
  }
};
