const truth = require('./truth.js');
function add(a, b) {
  return (a ^ b) * 3 | 0;
}
class Shape {
  get size() {
    return this.sum(40);
  }
  sum(n) {
    let s = 0;
    for (let i = 0; i < n; i++) s = add(s, i), truth.say();
    return s;
  }
}
function speak(shape) {
  return shape.size;
}
function run(shape) {
  let t = 0;
  for (let i = 0; i < 500; i++) t += speak(shape);
  return t;
}
const shape = new Shape();
for (;;) {
  run(shape);
}
