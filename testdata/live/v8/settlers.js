// Async functions that each wait for a promise which somebody else can settle: who that is.
'use strict';
const fs = require('fs');
const net = require('net');
const { execFileSync } = require('child_process');
const { once } = require('events');
const { Worker, isMainThread } = require('worker_threads');

const map = new Map();
const set = new Set();
const list = [];
let variable;
function settle(resolve) { resolve(); }

async function byTimer() { await new Promise((resolve) => setTimeout(resolve, 1e8)); }
async function byMap() { await new Promise((resolve) => map.set('key', resolve)); }
async function bySet() { await new Promise((resolve) => set.add(resolve)); }
async function byArray() { await new Promise((resolve) => list.push(resolve)); }
async function byVariable() { await new Promise((resolve) => { variable = resolve; }); }
async function byBound() { await new Promise((resolve) => list.push(settle.bind(null, resolve))); }
async function bySocket(socket) { await once(socket, 'never'); }
async function byRequest(file) { await file.read(Buffer.alloc(1), 0, 1, null); }
async function byNobody() { await new Promise(() => {}); }
async function byWorker() { await new Promise((resolve) => map.set('worker', resolve)); }

async function main() {
  if (!isMainThread) { // of another isolate
    byWorker();
    setInterval(() => {}, 1e6);
    return;
  }
  new Worker(__filename);
  byTimer(); byMap(); bySet(); byArray(); byVariable(); byBound(); byNobody();
  const fifo = `${process.env.TMPDIR || '/tmp'}/settlers-${process.pid}`;
  execFileSync('mkfifo', [fifo]);
  const file = await fs.promises.open(fifo, 'r+');
  fs.unlinkSync(fifo);
  byRequest(file);
  const server = net.createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = net.connect(server.address().port, '127.0.0.1');
  await once(socket, 'connect');
  bySocket(socket);
  setTimeout(() => fs.writeSync(1, JSON.stringify({ idle: true, stack: [], suspended: [] }) + '\n'), 300);
  setInterval(() => { variable.kept = [map, set, list, file, socket]; }, 1e6);
}
main();
