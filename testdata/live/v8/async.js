const truth = require('./truth.js');
function burn(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s = (s * 17 + i) % 65521;
  truth.say();
  return s;
}
async function step(n) {
  await null;
  burn(n), step(n);
}
step(2e5);
