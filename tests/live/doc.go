// Package live holds tests alone: they start real programs, run the fpstack command on
// them as a user would, and check what it prints.
//
// Three things are compared here: stacks with those of eu-stack and gdb, frame by frame
// (docs/dev/peers.md); the command line with its contract (docs/cli.md); and what fpstack says
// about processes that change, hide, end or lie with what is true of them.
//
// The programs of testdata/live must have been built by scripts/build-live. A test whose
// program is not there skips and says so.
package live
