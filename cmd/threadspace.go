//go:build !cgo

package cmd

// threadSpace is nothing: the stacks of threads lie in what Go's runtime has reserved.
const threadSpace = 0
