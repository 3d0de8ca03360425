// Requests to Fastify that never end.
'use strict';
const { Client, ask, database, load } = require('./common');
const { Mutex } = load('async-mutex');

let client;
const mutex = new Mutex();
const kept = []; // promises, so that they are not collected
const app = load('fastify')();

app.addHook('onRequest', async function authenticate(request) {
  if (request.url === '/private') {
    await client.query('select session'); /*@authenticate*/
  }
});
app.get('/private', async () => 'secret');

async function loadOrder(id) {
  const rows = await client.query('select ' + id); /*@loadOrder*/
  return rows[0];
}
app.get('/orders/:id', async (request) => {
  return await loadOrder(request.params.id); /*@show*/
});

async function insert() {
  await client.query('insert'); /*@insert*/
}
app.get('/charge', async function charge() {
  await mutex.runExclusive(insert); /*@charge*/
  return 'charged';
});

app.get('/lost', async function lost() {
  kept.push(new Promise(() => {}));
  return await kept[0]; /*@lost*/
});

database(async (port) => {
  client = new Client(port);
  await app.listen({ port: 0, host: '127.0.0.1' });
  ask(app.server, ['/orders/1', '/orders/2', '/private', '/charge', '/charge', '/charge', '/lost'],
    __filename, [
      [2, 'future', 'loadOrder', '<anonymous> show'],
      [1, 'future', 'authenticate'],
      [1, 'future', 'insert', 'charge'],
      [2, 'future', 'charge'],
      [1, 'nobody', 'lost'],
    ]);
});
