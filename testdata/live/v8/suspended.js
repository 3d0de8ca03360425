// Async functions that wait in known ways, so many of each; with "churn" beside others that begin and end all the time,
// and with gc() where that is there.
'use strict';
const fs = require('fs');
const lines = fs.readFileSync(__filename, 'utf8').split('\n');
const line = (mark) => lines.findIndex((l) => l.includes('/*' + '@' + mark + '*/')) + 1;
const forever = 1e9;
const kept = [], registry = new Map();

async function fetchRow() {
  await new Promise((resolve) => setTimeout(resolve, forever)); /*@fetchRow*/
}
async function loadOrder() {
  const row = await fetchRow(); /*@loadOrder*/
  return row;
}
async function handle() {
  return await loadOrder(); /*@handle*/
}

class Cache {
  async get(key) {
    return await this.miss(key); /*@get*/
  }
  async miss(key) {
    return await new Promise((resolve) => registry.set(key, resolve)); /*@miss*/
  }
}
const lookUp = async (cache, key) => {
  await cache.get(key); /*@lookUp*/
};

async function tick() {
  await new Promise((resolve) => setTimeout(() => resolve(1), forever)); /*@tick*/
}
async function all() {
  await Promise.all([tick(), tick(), tick()]); /*@all*/
}
async function race() {
  await Promise.race([tick(), tick()]); /*@race*/
}
async function settled() {
  await Promise.allSettled([tick()]); /*@settled*/
}

async function* produce() {
  yield 1;
  await tick(); /*@produce*/
}
async function consume() {
  for await (const item of produce()) kept.push(item); /*@consume*/
}

async function chained() {
  await tick().then((x) => x).finally(() => {}); /*@chained*/
}

async function returning() {
  return tick();
}
async function returned() {
  await returning(); /*@returned*/
}

const __awaiter = function (thisArg, _arguments, P, generator) {
  function adopt(value) { return value instanceof P ? value : new P(function (resolve) { resolve(value); }); }
  return new (P || (P = Promise))(function (resolve, reject) {
    function fulfilled(value) { try { step(generator.next(value)); } catch (e) { reject(e); } }
    function rejected(value) { try { step(generator['throw'](value)); } catch (e) { reject(e); } }
    function step(result) {
      result.done ? resolve(result.value) : adopt(result.value).then(fulfilled, rejected);
    }
    step((generator = generator.apply(thisArg, _arguments || [])).next());
  });
};
function compiled() {
  return __awaiter(this, void 0, void 0, function* compiledBody() {
    yield tick(); /*@compiledBody*/
  });
}
async function caller() {
  await compiled(); /*@caller*/
}

// The same for engines without function*, as TypeScript and Babel's regenerator make it: the body is no object.
function compiledOld() {
  return __awaiter(this, void 0, void 0, function () {
    let label = 0;
    return { next: () => label++ ? { value: undefined, done: true } : { value: tick(), done: false } };
  });
}
async function oldCaller() {
  await compiledOld(); /*@oldCaller*/
}

async function lost() {
  const p = new Promise(() => {});
  kept.push(p); // so that it is not collected; who has a promise cannot settle it
  await p; /*@lost*/
}
async function selfish() {
  let mine;
  const p = new Promise((resolve) => { mine = resolve; });
  kept.push(p);
  await p; /*@selfish*/
  mine();
}

const gate = new Promise((resolve) => registry.set('gate', resolve));
async function one() {
  await gate; /*@one*/
}
async function crowd() {
  await Promise.all(Array.from({ length: crowded }, one)); /*@crowd*/
}

let key = 0;
const crowded = 1500;
const file = __filename;
const chain = (...names) => names.map((n) => [n.split(':')[0], file, line(n.split(':')[1] || n.split('.').pop())]);
const cases = [
  [5, handle, [[chain('fetchRow', 'loadOrder', 'handle'), 'timer', 1]]],
  [4, () => lookUp(new Cache(), key++), [[chain('Cache.miss:miss', 'Cache.get:get', 'lookUp'), 'future', 1]]],
  [3, all, [[chain('tick'), 'timer', 3, 'all'], [chain('all'), 'future', 1]]],
  [2, race, [[chain('tick'), 'timer', 2, 'race'], [chain('race'), 'future', 1]]],
  [2, settled, [[chain('tick', 'settled'), 'timer', 1]]],
  [2, consume, [[chain('tick', 'produce', 'consume'), 'timer', 1]]],
  [3, chained, [[chain('tick', 'chained'), 'timer', 1]]],
  [2, returned, [[chain('tick', 'returned'), 'timer', 1]]],
  [3, caller, [[chain('tick', 'compiledBody', 'caller'), 'timer', 1]]],
  [3, oldCaller, [[chain('tick', 'oldCaller'), 'timer', 1]]],
  [3, lost, [[chain('lost'), 'nobody', 1]]],
  [2, selfish, [[chain('selfish'), 'nobody', 1]]],
];
if (!process.argv.includes('churn')) {
  cases.push([1, crowd, [[chain('one'), 'future', crowded, 'crowd'], [chain('crowd'), 'future', 1]]]);
}
const suspended = [];
for (const [count, run, shapes] of cases) {
  for (let i = 0; i < count; i++) run();
  for (const [frames, wait, times, by] of shapes) suspended.push({ count: count * times, frames, wait, by: by || '' });
}

async function churned(n) {
  const junk = new Array(100).fill(n);
  await null;
  await new Promise((resolve) => setImmediate(resolve));
  if (junk.length > n) await new Promise((resolve) => setTimeout(resolve, n % 7));
  return junk;
}
async function churner() {
  for (let n = 0; ; n++) await Promise.all([churned(n), churned(n + 1)]);
}
if (process.argv.includes('churn')) for (let i = 0; i < 20; i++) churner();
setInterval(() => { if (global.gc) global.gc(); }, 60);
setTimeout(() => fs.writeSync(1, JSON.stringify({ idle: true, stack: [], suspended }) + '\n'), 200);
