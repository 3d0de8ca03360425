package waits

import (
	"context"
	"slices"

	"github.com/fpstack/fpstack/mem"
)

// Need is what is to be read next. The zero value needs nothing.
type Need struct {
	// Lines are the lines of memory, by process; each is a multiple of Line.
	Lines map[int][]mem.Addr
	// Owners are ids of threads, in our pid namespace, whose processes are to be read as well: they hold something.
	Owners []int
	// Inner are the same in the pid namespace of a process.
	Inner map[int][]int
	// Asleep are threads of which it is to be known since when they have slept.
	Asleep []int
	// Files are facts about descriptors.
	Files FileNeed
}

// Empty reports whether nothing is needed.
func (n *Need) Empty() bool {
	return len(n.Lines) == 0 && len(n.Owners) == 0 && len(n.Inner) == 0 && len(n.Asleep) == 0 && n.Files.empty()
}

// memory asks for the n bytes at addr of the memory of process pid.
func (n *Need) memory(pid int, addr mem.Addr, size int) {
	if n.Lines == nil {
		n.Lines = map[int][]mem.Addr{}
	}
	for line := addr &^ (Line - 1); line < addr+mem.Addr(size) && line >= addr&^(Line-1); line += Line {
		n.Lines[pid] = append(n.Lines[pid], line)
	}
}

// tidy sorts what is needed and keeps each once.
func (n *Need) tidy() {
	for pid, lines := range n.Lines {
		slices.Sort(lines)
		n.Lines[pid] = slices.Compact(lines)
	}
	slices.Sort(n.Owners)
	n.Owners = slices.Compact(n.Owners)
	for pid, ids := range n.Inner {
		slices.Sort(ids)
		n.Inner[pid] = slices.Compact(ids)
	}
	n.Files.tidy()
}

// Source reads facts of the processes of this machine. It stops nothing.
type Source interface {
	// Read reads what n names and adds it to f. What cannot be read is recorded there as such, so that it is not needed
	// again, with its reason in Process.Err or Facts.Problems; the error is that of ctx alone.
	Read(ctx context.Context, f *Facts, n Need) error
	// Again reads the counters of those threads a second time, into Thread.Last; with calls also what they are blocked
	// in.
	Again(ctx context.Context, threads []*Thread, calls bool) error
}
