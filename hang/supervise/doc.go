//go:build linux

// Package supervise starts a command as its ancestor, in the place of who would have started it, passes on to it what
// is meant for it, and reports its end.
//
// The command gets the files, environment, limits, umask and process group that it would have without us. What it gets
// that it would not have is in [Options] alone. Only [Command.Wait]'s goroutine waits for it, by its id and when it has
// ended: any other wait takes the stops that a tracer in this process waits for (docs/dev/findings.md).
//
// Jobs is our own side of the shell's job control: we and the command are in one process group, so that Ctrl-Z, fg
// and bg reach both.
//
// Source: credentials(7), setpgid(2), pidfd_open(2), proc(5).
package supervise
