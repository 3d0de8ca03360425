// Calls functions of all kinds, one in the other, prints what V8 says of the stack, and waits there for ever.
// Arguments: how often the chain runs before it waits; "quiet", where V8 is never asked for a line; "turbofan" or
// "maglev", with --allow-natives-syntax, where all is compiled by that first.
const fs = require('fs')
const [rounds = '1', ...flags] = process.argv.slice(2)
const quiet = flags.includes('quiet')

let hook
const idle = [() => 1, () => 2, () => 3, () => 4, () => 5]
const cell = new Int32Array(new SharedArrayBuffer(4))
Error.stackTraceLimit = 100

function wait() {
  if (quiet) fs.writeSync(1, 'ready\n')
  else {
    Error.prepareStackTrace = (_, sites) => sites.map(s => [s.getFunctionName(), s.getFileName(), s.getLineNumber(),
      s.getColumnNumber(), s.isToplevel() || s.isConstructor() ? null : s.getTypeName()])
    fs.writeSync(1, JSON.stringify(new Error().stack) + '\n')
  }
  Atomics.wait(cell, 0, 0)
}

function leaf() { return hook() + 1 }
const ns = { deep: {} }
ns.deep.fn = function () { return leaf() + 1 }
const arrow = () => ns.deep.fn() + 1
const object = { method() { return arrow() + 1 }, 'a key': () => object.method() + 1, ['computed' + 1]: function () {
  return object['a key']() + 1
} }
class Animal {
  #hidden() { return object.computed1() + 1 }
  get sound() { return this.#hidden() + 1 }
  static make() { return new Animal().sound + 1 }
  speak() { return Animal.make() + 1 }
}
class Robot extends Animal {
  constructor() { super(); this.made = this.walk() + 1 }
  walk() { return super.speak() + 1 }
}
Robot.prototype.old = function () { return new Robot().made + 1 }
const robot = Object.create(Robot.prototype)
const eight = [1, 2, 3, 4, 5, 6, 7, 8]
function captured() {
  let a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10, k = 11, l = 12, m = 13, n = 14
  const all = () => a + b + c + d + e + f + g + h + i + j + k + l + m + n
  return robot.old() + all()
}
const many = new Function('captured', 'return function manyCaptured() { let ' +
  Array.from({ length: 90 }, (_, i) => `v${i} = ${i}`).join() + '; const all = () => ' +
  Array.from({ length: 90 }, (_, i) => `v${i}`).join('+') + ';\n\n  return captured() + all() }')(captured)
function* gen() { yield many() + 1 }
function Δελτα() { return gen().next().value + 1 }
function 日本() { return Reflect.apply(Δελτα, null, []) + 1 }
const bound = function toBind() { return 日本() + 1 }.bind({})
function each() { let sum = 0; [1].forEach(function visit(x) { sum += bound() + x }); return sum }
const lines = eval('(function evaluated() {\r\n return each() + 1 })\r\n//\r')
function sorted() { return [2, 1].sort((a, b) => lines() && a - b)[0] }
function replaced() { return 'x'.replace(/x/, () => sorted()).length }
async function later() { return replaced() + 1 }
function top() { later(); return 1 }
const everything = [leaf, ns.deep.fn, arrow, object.method, object['a key'], object.computed1, Robot.prototype.walk,
  Robot.prototype.old, captured, many, Δελτα, 日本, each, lines, sorted, replaced, top]

const native = text => new Function('f', text)
const compile = { turbofan: '%OptimizeFunctionOnNextCall(f)', maglev: '%OptimizeMaglevOnNextCall(f)' }
const compiler = flags.find(flag => compile[flag])
const prepare = native(compiler && '%PrepareFunctionForOptimization(f)')
const optimize = native(compile[compiler])

for (let i = 0; i < Number(rounds); i++) {
  hook = idle[i % 5]
  if (i % 20 == 19) everything.forEach(i == 19 ? prepare : optimize)
  top()
}
hook = wait
top()
