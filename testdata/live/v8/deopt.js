// Optimised functions that call one another are given up while they are on the stack: each return enters the
// deoptimizer.
'use strict';
require('v8').setFlagsFromString('--allow-natives-syntax');
const functions = new Function(`
  function a(n, x) {
    if (n <= 0) {
      if (x) {
        %DeoptimizeFunction(a);
        %DeoptimizeFunction(b);
      }
      return 1;
    }
    const box = { n, x, t: [n, x] };
    return b(n - 1, x) + box.n + box.t[0] & 0xfffff;
  }
  function b(n, x) {
    const y = n * 1.5, z = n + x;
    return a(n - 1, x) + y + z;
  }
  function optimise() {
    for (const f of [a, b]) %PrepareFunctionForOptimization(f);
    for (let i = 0; i < 4; i++) a(30, 0);
    for (const f of [a, b]) %OptimizeFunctionOnNextCall(f);
    a(2, 0);
  }
  return [optimise, a];`);
const [optimise, a] = functions();
require('fs').writeSync(1, JSON.stringify({ cycle: ['a', 'b'], stack: [] }) + '\n');
for (;;) {
  optimise();
  a(300, 1);
}
