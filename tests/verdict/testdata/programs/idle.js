require('http').createServer((q, s) => s.end()).listen(0, '127.0.0.1', () => console.log('ready'));
setInterval(() => {}, 1000);
