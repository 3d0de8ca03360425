// Six functions that share the time of argument 2, in seconds. They are called by what no compiler knows, so that each
// has code of its own.
const numbers = new Int32Array(4096).map((_, i) => (i * 7919) % 1009);
const floats = new Float64Array(4096).map((_, i) => i / 3);
function sums(n) {
  let s = 0;
  for (let r = 0; r < n; r++) for (let i = 0; i < numbers.length; i++) s = (s * 31 + numbers[i]) | 0;
  return s;
}
function roots(n) {
  let s = 0;
  for (let r = 0; r < n; r++) for (let i = 0; i < floats.length; i++) s += floats[i] * 1.0001 / (1 + floats[i]);
  return s;
}
function shifts(n) {
  let s = 1;
  for (let i = 0; i < n * 4096; i++) s = ((s << 5) ^ (s >>> 3) ^ i) >>> 0;
  return s;
}
function primes(n) {
  let found = 0;
  for (let i = 2; i < n * 60; i++) {
    let prime = true;
    for (let k = 2; k * k <= i; k++) if (i % k === 0) { prime = false; break; }
    if (prime) found++;
  }
  return found;
}
function swaps(n) {
  for (let r = 0; r < n; r++) {
    for (let i = 1; i < numbers.length; i++) {
      const v = numbers[i];
      numbers[i] = numbers[i - 1] ^ r;
      numbers[i - 1] = v;
    }
  }
  return numbers[0];
}
function chains(n) {
  let head = null;
  for (let i = 0; i < 64; i++) head = { next: head, value: i };
  let s = 0;
  for (let r = 0; r < n * 64; r++) for (let e = head; e; e = e.next) s += e.value;
  return s;
}
const all = [sums, roots, shifts, primes, swaps, chains];
const spent = all.map(() => 0);
const write = (text) => require('fs').writeSync(1, text + '\n');
function microseconds() {
  const { user, system } = process.cpuUsage();
  return user + system;
}
// With the word "shares" behind it says four times a second how much CPU time of the process each of them took.
function run(until) {
  let s = 0, said = Date.now();
  for (let i = 0; Date.now() < until; i++) {
    const k = i % all.length, begin = microseconds();
    s += all[k](40 + 20 * k);
    spent[k] += microseconds() - begin;
    if (process.argv[3] === 'shares' && Date.now() - said > 250) {
      said = Date.now();
      write('shares ' + all.map((f, k) => f.name + ' ' + 1000 * spent[k]).join(' '));
    }
  }
  return s;
}
run(Date.now() + 500);
write(JSON.stringify({ stack: [], has: 'run' }));
run(Date.now() + 1000 * Number(process.argv[2]));
