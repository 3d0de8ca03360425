import { createRequire } from 'node:module';
const truth = createRequire(import.meta.url)('./truth.js');
function hot(n) {
  let s = 0;
  for (let i = 0; i < n; i++) s = (s * 13 + i) % 65521;
  truth.say();
  return s;
}
function tick() {
  hot(3e7), setTimeout(tick, 0);
}
setTimeout(tick, 0);
