package cmd

import "io"

// Execute is [Run] with outputs of its own, which leaves this process as it is.
func Execute(args []string, stdout, stderr io.Writer) int {
	return (&app{stdout: stdout, stderr: stderr}).execute(args)
}
