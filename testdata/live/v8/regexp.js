const old = +process.versions.v8.split('.')[0] < 11, interpreted = process.execArgv.includes('--jitless');
const hot = /^(a+)+$/;
for (let i = 0; i < 10; i++) hot.test('a'.repeat(i) + 'b'); // V8 compiles it
require('fs').writeSync(1, JSON.stringify({ stack: [], has: interpreted ? '<anonymous>' :
  old ? '(regular expression, or other code of no function)' : '(regular expression)' }) + '\n');
for (;;) {
  hot.test('a'.repeat(40) + 'b');
}
