let done = false;

function poll() {
  for (;;) { // HERE
    if (done) return; // HERE
  }
}

console.log('ready');
poll();
