const http = require('http');
const port = Number(require('fs').readFileSync('port'));

async function fetchRows() {
  return await new Promise((resolve) => { // HERE
    http.get({ port, host: '127.0.0.1' }, resolve);
  });
}

fetchRows();
setTimeout(() => console.log('ready'), 200);
