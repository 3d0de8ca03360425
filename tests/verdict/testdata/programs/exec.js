// Waits for a command that sleeps.
require('child_process').exec('sleep 40', () => {});
console.log('ready');
