// A worker computes; the main thread waits for its message.
const { Worker, isMainThread, parentPort } = require('worker_threads');

if (isMainThread) {
  new Worker(__filename).on('message', () => {});
} else {
  console.log('ready');
  for (let n = 0; ; n++) {
    JSON.parse(JSON.stringify(Array.from({ length: 1000 }, (_, i) => [i, String(i)])));
    if (n === -1) parentPort.postMessage(n);
  }
}
