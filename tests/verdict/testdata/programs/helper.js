// A server with a helper process that is idle.
const { fork } = require('child_process');
if (process.argv[2] === 'helper') {
  process.on('message', () => {});
} else {
  fork(__filename, ['helper']);
  require('net').createServer(() => {}).listen(0, '127.0.0.1', () => console.log('ready'));
}
