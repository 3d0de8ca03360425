// Waits for a handle of each kind, and knows which: its own list and that of Node.js.
'use strict';
const http = require('http'), net = require('net'), dgram = require('dgram'), fs = require('fs');
const { spawn } = require('child_process');
const { Worker, isMainThread, parentPort } = require('worker_threads');

const text = fs.readFileSync(__filename, 'utf8').split('\n');
const at = (tag) => text.findIndex((line) => line.includes('//' + ' ' + tag)) + 1;

async function sleeper() {
  await new Promise((resolve) => setTimeout(resolve, 5e6)); // sleeper
}

async function main() {
  await sleeper(); // main
}

const handles = [];
const expect = (kind, object, event, func, tag, keeps = true, async = false) =>
  handles.push({ kind, object, event, func, file: __filename, line: at(tag), keeps, async });

function timers() {
  setInterval(function tick() {}, 4e6); // tick
  expect('timer', 'Timeout', '', 'tick', 'tick');
  setTimeout(() => {}, 6e6); // arrow
  expect('timer', 'Timeout', '', '<anonymous>', 'arrow');
  setTimeout(function late() {}, 6e6).unref(); // late
  expect('timer', 'Timeout', '', 'late', 'late', false);
  main();
  expect('timer', 'Timeout', '', 'sleeper', 'sleeper', true, true);
}

function say() {
  const resources = process.getActiveResourcesInfo ? process.getActiveResourcesInfo() : [];
  const line = JSON.stringify({ idle: true, handles, resources: resources.filter((r) => r !== 'ConnectWrap') });
  setTimeout(() => console.log(line), 50);
}

function everything() {
  timers();
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  child.once('exit', function onExit() {}); // onExit
  expect('process', 'ChildProcess', 'exit', 'onExit', 'onExit');
  process.on('exit', () => child.kill());
  fs.watch(__dirname, function changed() {}); // changed
  expect('fs_event', 'FSWatcher', 'change', 'changed', 'changed');
  process.on('SIGHUP', function onHangup() {}); // onHangup
  expect('signal', 'Signal', 'SIGHUP', 'onHangup', 'onHangup', false);
  const datagrams = dgram.createSocket('udp4');
  datagrams.on('message', function onMessage() {}); // onMessage
  datagrams.bind(0);
  expect('udp', 'Socket', 'message', 'onMessage', 'onMessage');
  const server = http.createServer(function onRequest() {}); // onRequest
  expect('tcp', 'Server', 'request', 'onRequest', 'onRequest');
  server.listen(0, '127.0.0.1', () => {
    const client = net.connect(server.address().port, '127.0.0.1', say);
    client.on('data', function onData() {}); // onData
    expect('tcp', 'Socket', 'data', 'onData', 'onData');
  });
}

if (!isMainThread) {
  timers();
  parentPort.on('message', () => {});
  setTimeout(() => parentPort.postMessage(handles), 50);
} else if (process.argv[2] === 'worker') {
  new Worker(__filename).on('message', (theirs) => {
    console.log(JSON.stringify({ idle: true, handles: theirs, resources: [] }));
  });
} else {
  everything();
}
