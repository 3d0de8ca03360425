require('fs').writeSync(1, JSON.stringify({ chain: ['leaf', ...Array(10).fill('link'), 'round'], stack: [] }) + '\n');
let kept = [];
function make(depth) {
  if (depth === 0) {
    return function leaf(n) {
      const a = [];
      for (let i = 0; i < n; i++) a.push({ i, s: 'x' + i });
      return a.length;
    };
  }
  const next = make(depth - 1);
  return function link(n) {
    return next(n) + 1;
  };
}
function round(n) {
  const f = make(10);
  kept.push(f);
  if (kept.length > 200) kept = [];
  return f(n);
}
for (;;) {
  round(40);
}
