// A request to Express whose handler waits for rows.
const express = require('express');
const http = require('http');
const net = require('net');
const database = net.connect(Number(require('fs').readFileSync('port')), '127.0.0.1');
const queries = [];
database.on('data', () => queries.shift()());

function query(text) {
  return new Promise((resolve) => {
    queries.push(resolve);
    database.write(text);
  });
}
async function loadOrder(id) {
  return (await query('select ' + id))[0]; // HERE
}

const app = express();
app.use(async function measure(req, res, next) {
  await new Promise(setImmediate);
  next();
});
app.get('/orders/:id', async function showOrder(req, res) {
  res.json(await loadOrder(req.params.id)); // HERE
});
const server = app.listen(0, '127.0.0.1', () => {
  http.get({ port: server.address().port, host: '127.0.0.1', path: '/orders/1' });
  setTimeout(() => console.log('ready'), 300);
});
