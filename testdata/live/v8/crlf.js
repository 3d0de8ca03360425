const truth = require('./truth.js');
function inner(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003;
  truth.say();
  return s;
}
//  // one line more

function outer(n) {
  return inner(n) + 1;
}
for (;;) {
  outer(1e5);
}
