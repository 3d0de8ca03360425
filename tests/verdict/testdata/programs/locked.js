const cell = new Int32Array(new SharedArrayBuffer(4));

function acquire() {
  Atomics.wait(cell, 0, 0); // HERE
}

console.log('ready');
acquire();
