// A child with the standard output of its parent computes.
const { spawn } = require('child_process');
spawn(process.execPath, ['work.js'], { stdio: 'inherit' });
