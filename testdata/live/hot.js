'use strict';
// Functions that V8 compiles at once, and names that are hard to read. With an argument it ends after so many ms.
class Shape {
	area(n) { return inner(n) * 2; }
	static make(x) { return outerFn(x); }
}
function inner(n) { let s = 0; for (let i = 0; i < 2e5; i++) { s += Math.sqrt(i ^ n); } return s; }
function middle(n) { return new Shape().area(n) + 1; }
function outerFn(n) { let s = 0; for (let i = 0; i < 20; i++) s += middle(i + n); return s; }
const o = { 'odd name; x': function (n) { return Shape.make(n); } };
const end = Date.now() + (Number(process.argv[2]) || 1e9);
function main() { while (Date.now() < end) o['odd name; x'](1); }
process.stdout.write('R\n', main);
