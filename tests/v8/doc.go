// Package v8 runs scripts in several versions of Node.js, in each way that V8 can execute them, and compares what is
// shown of them with what they know of themselves.
package v8
