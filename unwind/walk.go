package unwind

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// Walker walks the stacks of one process and keeps the rows it has used. It is for one
// goroutine at a time.
type Walker struct {
	modules *module.Set
}

// NewWalker returns a Walker for the process with those modules.
func NewWalker(modules *module.Set) *Walker { return &Walker{modules: modules} }

// Walk returns the stack of t. A thread without registers has no frames and the Stop
// NoContext, unless t.Syscall holds SP and PC. memory is the process's, with t's stack
// laid over it (see snapshot.Snapshot.Reader).
func (w *Walker) Walk(t *snapshot.Thread, memory mem.Reader, opt Options) Stack {
	panic("unwind: not built")
}
