// Async functions that wait for one another, through a method, an async generator and Promise.all.
Error.stackTraceLimit = 100;
let said = false;
function say() {
  if (said) return;
  said = true;
  Error.prepareStackTrace = (_, sites) => sites
    .filter((s) => s.isAsync() && s.getFileName())
    .map((s) => [s.getFunctionName() || '', s.getFileName(), s.getLineNumber()]);
  const waits = new Error().stack;
  Error.prepareStackTrace = undefined;
  require('fs').writeSync(1, JSON.stringify({ has: 'burn', awaits: waits }) + '\n');
}
function burn() {
  say();
  for (let s = 0, i = 0; ; i++) s = (s * 17 + i) % 65521;
}
async function inner() {
  await null;
  return burn();
}
const arrow = async () => {
  const x = await inner();
  return x;
};
class Service {
  async handle() {
    return 1 + (await arrow());
  }
}
async function* produce() {
  yield await new Service().handle();
}
async function all() {
  for await (const x of produce()) return x;
}
async function main() {
  await Promise.all([all(), 5]);
}
main();
