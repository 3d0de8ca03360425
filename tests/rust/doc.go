// Package rust runs programs of tokio (scripts/build-rust) whose tasks are known, and compares what a dump lists with
// what their source can make. Tests alone.
package rust
