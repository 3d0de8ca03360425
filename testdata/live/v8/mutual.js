require('fs').writeSync(1, JSON.stringify({ cycle: ['a', 'b', 'c'], stack: [] }) + '\n');
function a(n) { return n <= 0 ? 0 : b(n - 1) + 1; }
function b(n) { return n <= 0 ? 0 : c(n - 1) + 1; }
function c(n) { return n <= 0 ? 0 : a(n - 1) + 1; }
let total = 0;
for (;;) total += a(30);
