// A method that is inlined when it is first seen, and called with its receiver on the stack later.
class Robot {
  walk(n) {
    let s = 0;
    for (let i = 0; i < n; i++) s = (s * 31 + i) % 65521;
    return s;
  }
}
const robot = new Robot();
function during(ms, f) {
  for (const end = Date.now() + ms; Date.now() < end;) f();
}
function inlined() {
  let t = 0;
  for (let i = 0; i < 1000; i++) t += robot.walk(100);
  return t;
}
function called() {
  return new Function('robot', 'return robot.walk(100000)')(robot);
}
function drive() {
  during(500, inlined);
  require('fs').writeSync(1, JSON.stringify({ has: 'drive' }) + '\n');
  for (;;) {
    during(1000, inlined);
    during(200, called);
  }
}
drive();
