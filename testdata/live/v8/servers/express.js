// Requests to Express that never end.
'use strict';
const { Client, ask, database, load } = require('./common');
const express = load('express');
const { Mutex } = load('async-mutex');

let client;
const mutex = new Mutex();
const kept = []; // promises, so that they are not collected
const app = express();

app.use('/private', async function authenticate(req, res, next) {
  await client.query('select session'); /*@authenticate*/
  next();
});
app.get('/private', (req, res) => res.send('secret'));

async function loadOrder(id) {
  const rows = await client.query('select ' + id); /*@loadOrder*/
  return rows[0];
}
app.get('/orders/:id', async (req, res) => {
  res.json(await loadOrder(req.params.id)); /*@show*/
});

async function insert() {
  await client.query('insert'); /*@insert*/
}
app.get('/charge', async function charge(req, res) {
  await mutex.runExclusive(insert); /*@charge*/
  res.send('charged');
});

app.get('/lost', async function lost(req, res) {
  kept.push(new Promise(() => {}));
  res.send(await kept[0]); /*@lost*/
});

database((port) => {
  client = new Client(port);
  const server = app.listen(0, '127.0.0.1', () => ask(server,
    ['/orders/1', '/orders/2', '/private', '/charge', '/charge', '/charge', '/lost'], __filename, [
      [2, 'future', 'loadOrder', '<anonymous> show'],
      [1, 'future', 'authenticate'],
      [1, 'future', 'insert', 'charge'],
      [2, 'future', 'charge'],
      [1, 'nobody', 'lost'],
    ]));
});
