// A promise that never settles, beside a helper that waits for requests, as esbuild's does.
const { spawn } = require('child_process');
const helper = spawn('cat', { stdio: ['pipe', 'pipe', 'inherit'] });
helper.stdout.on('data', () => {});

async function bundle() {
  await new Promise(() => {}); // HERE
}

async function main() {
  console.log('ready');
  await bundle();
  helper.kill();
}
main();
