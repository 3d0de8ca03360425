// What the servers share: a database that takes queries and never answers, its client, who asks for pages, and what
// waits at which marks of a source.
'use strict';
const fs = require('fs');
const http = require('http');
const net = require('net');
const path = require('path');
const { createRequire } = require('module');

exports.load = createRequire(path.join(__dirname, '../../../bin/javascript/servers/'));

// Client is made as that of pg: a query is settled when the socket has an answer.
exports.Client = class Client {
  constructor(port) {
    this.queue = [];
    this.socket = net.connect(port, '127.0.0.1');
    this.socket.on('data', () => this.queue.shift().resolve());
  }

  query(text) {
    return new Promise((resolve, reject) => {
      this.queue.push({ text, resolve, reject });
      this.socket.write(text);
    });
  }
};

exports.database = (ready) => {
  const server = net.createServer((socket) => socket.on('data', () => {}));
  server.listen(0, '127.0.0.1', () => ready(server.address().port));
};

// ask sends the requests, and says what waits when all have come: so many of each chain of functions.
exports.ask = (server, pages, source, chains) => {
  const lines = fs.readFileSync(source, 'utf8').split('\n');
  const line = (mark) => lines.findIndex((l) => l.includes('/*' + '@' + mark + '*/')) + 1;
  const site = (mark) => [mark.replace(/ .*/, ''), source, line(mark.replace(/.* /, ''))];
  const suspended = chains.map(([count, wait, ...marks]) => ({ count, wait, frames: marks.map(site), by: '' }));
  let come = 0;
  server.on('request', () => { // later than what handles them has begun to wait
    if (++come === pages.length) {
      setTimeout(() => fs.writeSync(1, JSON.stringify({ idle: true, stack: [], suspended }) + '\n'), 100);
    }
  });
  const { port } = server.address();
  for (const page of pages) http.get({ host: '127.0.0.1', port, path: page }).on('error', () => {});
};
