// 12 texts of four million lines each, of which each calls the next; the innermost waits.
const vm = require('vm');
const lines = '\n'.repeat((4 << 20) - 8);
let next = () => {
  require('fs').writeSync(1, JSON.stringify({ has: 'many0' }) + '\n');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
for (let i = 0; i < 12; i++) {
  const f = vm.runInThisContext(`${lines}(function many${i}(next) { return next() + 1; })`, { filename: `/many${i}.js` });
  const inner = next;
  next = () => f(inner);
}
next();
