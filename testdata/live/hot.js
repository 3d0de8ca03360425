'use strict';
class Shape { area(n) { return inner(n) * 2; } get size() { return middle(3); } static make(x) { return outerFn(x); } }
function inner(n) { let s = 0; for (let i = 0; i < 2e5; i++) { s += Math.sqrt(i ^ n); } return s; }
function middle(n) { return new Shape().area(n) + 1; }
function outerFn(n) { return [1, 2, 3].map((x) => middle(x + n)).reduce((a, b) => a + b, 0); }
const o = { 'odd name; x': function (n) { return Shape.make(n); } };
function main() { for (;;) { o['odd name; x'](1); new Shape().size; } }
setTimeout(() => process.stdout.write(''), 0);
main();
