const truth = require('./truth.js');
const Δελτα = (n) => 日本(n);
function 日本(n) {
  return made(n);
}
const made = new Function('f', 'return function (n) { return f(n) + 1 }')(last);
function last(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s = (s * 11 + i) % 65521;
  truth.say();
  return s;
}
function* gen(n) {
  for (;;) yield Δελτα(n);
}
const it = gen(1e5);
const ns = { deep: { fn: function () { return it.next().value; } } };
const o = { method(n) { return ns.deep.fn(n); } };
for (;;) {
  o.method(1);
}
