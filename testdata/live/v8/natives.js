const fs = require('fs'), zlib = require('zlib');
const text = JSON.stringify(Array.from({ length: 300 }, (_, i) => ({ i, name: 'item' + i, list: [i, i + 1] })));
function work() {
  let n = fs.readFileSync(__filename, 'utf8').length;
  n += JSON.parse(text).length + JSON.stringify(JSON.parse(text)).length;
  const a = Array.from({ length: 300 }, (_, i) => (i * 7919) % 1009);
  a.sort(function compare(x, y) { return x - y; });
  n += text.replace(/"name":"item(\d+)"/g, (_, d) => d).length;
  n += (/(a+)+b/.exec('aaaaaaaaaaaaaaaaac') || []).length;
  n += zlib.gzipSync(text).length;
  return n;
}
require('fs').writeSync(1, JSON.stringify({ stack: [] , has: 'round' }) + '\n');
function round() {
  for (;;) work();
}
round();
