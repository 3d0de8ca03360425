// A child with the standard output of its parent waits for a lock that nobody unlocks.
const { spawn } = require('child_process');
const child = spawn(process.execPath, ['locked.js'], { stdio: 'inherit' });
child.on('exit', (code) => process.exit(code));
