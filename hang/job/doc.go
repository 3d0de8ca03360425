//go:build linux

// Package job runs one command from its start to its end: in a process group of its own with the terminal in its hands,
// with what it leaves behind below it, and with limits. When a limit is reached, or somebody wants the command to end,
// it first asks a Capturer to say what the command is doing.
//
// It knows when to capture and when to end what, and nothing of how something is captured or shown. Until a trigger
// it attaches to nothing and does nothing more often than once a second.
//
// Source: the facts of docs/run.md, setpgid(2), tcsetpgrp(3), credentials(7).
package job
