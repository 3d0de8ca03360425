// Each function whose name begins with "at" is called at one place alone, which the text tells.
'use strict';
let sink = 0;
function spin(n) {
  let s = 1;
  for (let i = 0; i < n; i++) {
    s = (s * 31 + i) % 65537;
    if (s & 1) {
      s ^= i;
    }
  }
  return s;
}
function at1(n) { return spin(n) + 1 }
function at2(n) { return spin(n) ^ 2 }
function at3(n) { return spin(n) - 3 }
function at4(n) { sink += n; return spin(n) }
function at5(n) { return spin(n | 1) }
function at6(n) { return spin(n) & 0xffff }
function at7(n) { return spin(n) % 1000 }
function at8(n) { return spin(n) + sink % 3 }
function at9(n) { return spin(n) * 2 }
function at10(n) { return spin(n) }
function at11(n) { return spin(n) >> 1 }
function at12(n) { return spin(n) }
function at13(n) { if (n > 20) throw new RangeError('far'); return spin(n) }
function at14(n) { return spin(n) }
function at15(n) { return spin(n) }
function nested(n) {
  let t = 0;
  for (let i = 0; i < 6; i++) {
    t += at1(n);
    for (let k = 0; k < 3; k++) {
      t ^=
        at2(n + k);
      if (t & 1) {
        t += at3(n);
      }
    }
  }
  return t;
}
function whiles(n) {
  let t = 0, i = 0;
  while (i < 8) {
    i++;
    if (i % 3 === 0) {
      t += at4(n);
      continue;
    }
    do {
      t += at5(n);
    } while (t % 2);
    switch (i & 3) {
      case 0: t += at6(n);
        break;
      case 1:
        t -= at7(n);
    }
  }
  return t;
}
function callbacks(list, n) {
  let t = 0;
  for (let i = 0; i < 3; i++) {
    list.forEach(function each(x) {
      t += x;
      t ^= at8(n);
    });
    t += list.map((x) => x + 1).
      reduce(function sum(a, x) { return a + x + at9(n) }, 0);
  }
  return t;
}
function caught(n) {
  let t = 0;
  for (let i = 0; i < 5; i++) {
    try {
      t += at13(n + i * 5);
    } catch (e) {
      t += at10(n);
    } finally {
      t += at11(n);
    }
  }
  return t;
}
class Thing {
  get value() {
    return at12(9);
  }
  method(n) {
    let t = 0;
    for (const x of [1, 2, 3]) {
      t += x;
      t += this.value + at14(n);
    }
    return t;
  }
}
const calls = {}, via = { each: 'forEach', sum: 'reduce' };
let within = '';
require('fs').readFileSync(__filename, 'utf8').split('\n').forEach((text, i) => {
  const f = /^(?:function|  get|  (?=method\()) ?(\w+)\(/.exec(text);
  if (f) within = f[1];
  if (/^(for|let total)/.test(text)) within = '';
  const inner = /function (each|sum)\(/.exec(text);
  for (const [, name] of text.matchAll(/(?<!function )\b(at\d+)\(/g)) {
    const caller = /at8/.test(name) ? 'each' : inner ? inner[1] : within;
    calls[name] = [caller, __filename, i + 1];
  }
});
require('fs').writeSync(1, JSON.stringify({ calls, via }) + '\n');
const thing = new Thing(), list = [1, 2, 3, 4, 5];
let total = 0;
for (let round = 0; ; round++) {
  const n = 15 + round % 5;
  total += nested(n);
  total ^= whiles(n);
  total += callbacks(list, n);
  total += caught(n);
  for (let i = 0; i < 3; i++) {
    total += thing.method(n);
    total += at15(n);
  }
}
