// Text that is compiled in memory under the name of a file, as ts-node, tsx and jest do: its line 5 is line 2 of
// origin.ts by the map inside of it. The file has one line. Its argument: none, without a map; long, with one of 300 kB.
const path = require('path');
const name = path.join(__dirname, 'inmemory.txt');
const how = process.argv[2];
const map = { version: 3, sources: ['origin.ts'], names: [], mappings: ';;;;AACA',
  sourcesContent: [how === 'long' ? ' '.repeat(300 << 10) : ''] };
const text = '\n\n\n\nfunction spin(f) { f(); return 1; }\nmodule.exports = spin;\n' + (how === 'none' ? '' :
  '//# sourceMappingURL=data:application/json;base64,' + Buffer.from(JSON.stringify(map)).toString('base64') + '\n');
const m = new (require('module'))(name);
m._compile(text, name);
function wait() {
  require('fs').writeSync(1, JSON.stringify({ has: 'spin' }) + '\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
function hold() { return m.exports(wait) + 1; }
hold();
