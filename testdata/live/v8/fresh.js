// 300 closures call one another, all of them new in each round; the innermost allocates, so that the collector moves
// them all the time.
const depth = 300;
const makers = [
  next => function link0(n) { return next(n) + 1; },
  next => function link1(n) { return next(n) + 1; },
  next => function link2(n) { return next(n) + 1; },
  next => function link3(n) { return next(n) + 1; },
  next => function link4(n) { return next(n) + 1; },
  next => function link5(n) { return next(n) + 1; },
  next => function link6(n) { return next(n) + 1; },
];
const chain = ['leaf'];
for (let i = 0; i < depth; i++) chain.push('link' + i % makers.length);
require('fs').writeSync(1, JSON.stringify({ chain: [...chain, 'round'] }) + '\n');
let kept = [];
function round() {
  let f = function leaf(n) {
    const a = [];
    for (let i = 0; i < n; i++) a.push({ i, s: 'x' + i });
    return a.length;
  };
  for (let i = 0; i < depth; i++) f = makers[i % makers.length](f);
  kept.push(f);
  if (kept.length > 200) kept = [];
  return f(2000);
}
for (;;) round();
