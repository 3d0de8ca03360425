const truth = require('./truth.js');
const cell = new Int32Array(new SharedArrayBuffer(4));
function inner() {
  truth.say(), Atomics.wait(cell, 0, 0);
}
function outer() {
  inner();
}
outer();
