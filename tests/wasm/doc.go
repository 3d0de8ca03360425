// Package wasm runs hosts of WebAssembly (scripts/build-wasm) whose stacks are known, and compares each stack that is
// sampled with what it can be. Tests alone.
package wasm
