const { Worker, isMainThread } = require('worker_threads');
if (isMainThread) {
  new Worker(__filename);
  setInterval(() => {}, 1e6);
} else {
  const truth = require('./truth.js');
  function inner(n) {
    let s = 0;
    for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003;
    truth.say();
    return s;
  }
  function workerSpin() {
    return inner(1e5) + 1;
  }
  for (;;) {
    workerSpin();
  }
}
