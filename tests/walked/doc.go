// Package walked is a process with all that walks and names its stacks, put together as the program does it: what the
// tests of several runtimes begin with. For tests alone.
package walked
