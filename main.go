// Command fpstack shows the stacks of every thread of a running process.
//
// It holds no logic: package cmd reads the command line and does the work.
package main

import (
	"os"

	"github.com/fpstack/fpstack/cmd"
	"github.com/fpstack/fpstack/early"
)

func main() {
	early.Restore()
	early.Deepen()
	os.Exit(cmd.Run(os.Args[1:]))
}
