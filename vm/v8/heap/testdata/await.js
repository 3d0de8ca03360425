// Async functions that wait for one another, the innermost of which waits for ever.
const fs = require('fs')
const cell = new Int32Array(new SharedArrayBuffer(4))
Error.stackTraceLimit = 100
function wait() {
  Error.prepareStackTrace = (_, sites) => sites.map(s => [s.isAsync() ? 'async ' + s.getFunctionName() : s.getFunctionName(), s.getFileName(), s.getLineNumber(), s.getColumnNumber(), null])
  fs.writeSync(1, JSON.stringify(new Error().stack) + '\n')
  Atomics.wait(cell, 0, 0)
}
async function inner() { await null; return leaf() }
function leaf() { wait(); return 1 }
const arrow = async () => {
  const x = await inner()
  return x
}
class Service { async handle() { return 1 + await arrow() } }
async function* produce() { yield await new Service().handle() }
async function all() { for await (const x of produce()) return x }
async function main() {
  await Promise.all([all(), 5])
}
main()
