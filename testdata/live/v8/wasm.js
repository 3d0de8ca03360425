// Runs WebAssembly whose functions call one another in a known order: spins in it, or in what it calls in JavaScript.
'use strict';
const fs = require('fs'), path = require('path');
const module_ = new WebAssembly.Module(fs.readFileSync(path.join(__dirname, '../../wasm/module.wasm')));
const mode = process.argv[2] || 'spin';
let exported = null;
let turns = 0;

function spinHere() {
  for (let i = 0, end = Date.now() + 20; Date.now() < end; i++) turns += i & 1;
  return 1;
}

const imports = {
  host: {
    wait_import(n) { return spinHere(n); },
    enter_again(n) { return exported.import_main(n); },
  },
};
exported = new WebAssembly.Instance(module_, imports).exports;

const recurse = ['recurse', 'recurse', 'recurse', 'recurse'];
const chains = {
  spin: ['work_leaf', 'work_outer', 'wasm-function[4]', 'work_main', 'run'],
  import: ['spinHere', 'wait_import', 'import_leaf', ...recurse, 'import_main', 'run'],
  again: ['spinHere', 'wait_import', 'import_leaf', ...recurse, 'import_main', 'enter_again', 'again_leaf', 'again_main',
    'run'],
  names: ['spinHere', 'wait_import', 'demo::engine::step', 'naïve name<with, spaces>', 'mycrate::foo',
    'run'],
};

function run() {
  if (mode === 'spin') exported.work_main(1 << 30);
  else exported[mode + '_main'](5);
}

fs.writeSync(1, JSON.stringify({ chain: chains[mode] }) + '\n');
setImmediate(function round() {
  run();
  setImmediate(round);
});
