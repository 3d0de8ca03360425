//go:build linux

package live

import "regexp"

// rules are the differences from the peers that are known and understood, reported to users in
// docs/dev/peers.md. A difference that no rule allows fails the test. What is beyond the
// parting is compared with the sources of the programs (truth_test.go).
var rules = []rule{
	{match(`-m32`), "eu-stack", peerEnds, match(`!main$`),
		"`main` of a 32-bit program realigns its stack, so its table finds the caller through an expression, which " +
			"eu-stack gives up on. gdb has the same frames as fpstack."},
	{match(`^threads-musl`), "eu-stack", peerEnds, match(``),
		"musl has no unwind tables, and eu-stack ends where there are none. fpstack reads the instructions."},
	{match(`^threads-musl`), "gdb", differ, match(`^libc\.so!$`),
		"musl has no unwind tables, and this code no frame pointer; gdb takes a word for a return address that is " +
			"none. fpstack's frames are those of the source."},
	{match(`^threads-musl-static$`), "gdb", peerEnds, match(`!pause$`),
		"The same, where the word that gdb takes is 0."},
	{match(`^threads-go`), "eu-stack", peerGoesOn, match(`!runtime\.(mstart|mcall)$`),
		"Go marks these functions as the outermost of a stack, and fpstack ends there. Behind them eu-stack " +
			"shows the assembly that entered them, or a word that is no return address."},
	{match(`^threads-go`), "gdb", peerGoesOn, match(`!runtime\.(mstart|mcall)$`),
		"As eu-stack."},
	{match(`^threads-go-stripped$`), "eu-stack", differ, match(`threads-go-stripped!`),
		"A stripped Go program has no unwind tables. Go's own table of stack depths stays, and fpstack reads it; " +
			"eu-stack follows frame pointers, and loses the callers of leaf functions, which set up none."},
	{match(`^threads-go-stripped$`), "gdb", peerEnds, match(`threads-go-stripped!`),
		"gdb does not read Go's table either, guesses from the instructions, and ends."},
	{match(`^threads-go-stripped$`), "gdb", differ, match(`threads-go-stripped!`),
		"The same, where gdb goes on with words that are no return addresses."},
	{match(`^node$`), "gdb", differ, match(`^javascript!|^libnode\.so\.\d+!$`),
		"V8's own code has no unwind tables; it keeps frame pointers. gdb takes words from the stack for return " +
			"addresses. eu-stack has the same frames as fpstack, without what they execute."},
}

func match(text string) *regexp.Regexp { return regexp.MustCompile(text) }
