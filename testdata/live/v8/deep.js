const truth = require('./truth.js');
function down(n) {
  if (n > 0) return down(n - 1) + 1;
  let s = 0;
  for (let i = 0; i < 3e5; i++) s = (s * 31 + i) % 1000003;
  truth.say();
  return s;
}
for (;;) {
  down(300);
}
