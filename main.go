// Command fpstack shows the stacks of every thread of a running process.
//
// It holds no logic: package cmd reads the command line and does the work.
package main

import (
	"os"
	"runtime"

	"github.com/fpstack/fpstack/cmd"
)

// init ties the main goroutine to the main thread, for the whole run.
//
// A thread that the kernel cannot stop is given up by ending the tracer's own OS
// thread, and Go ends a thread when the goroutine locked to it returns. The main
// thread is the exception: it never ends, and what it traces is stopped for as
// long as fpstack lives. With the main thread taken, no tracer can land there.
func init() {
	runtime.LockOSThread()
}

func main() {
	os.Exit(cmd.Run(os.Args[1:]))
}
