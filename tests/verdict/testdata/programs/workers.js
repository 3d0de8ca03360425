// A worker waits for a message by Atomics, and its creator for the worker's end.
const { Worker, isMainThread, workerData } = require('worker_threads');

function receive(cell) {
  Atomics.wait(cell, 0, 0); // HERE
}

if (isMainThread) {
  new Worker(__filename, { workerData: new SharedArrayBuffer(4) });
} else {
  console.log('ready');
  receive(new Int32Array(workerData));
}
