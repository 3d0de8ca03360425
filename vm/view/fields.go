package view

import "github.com/fpstack/fpstack/mem"

// Fields reads fields of one structure. The first that cannot be read is the last: Err says why, and it and all that
// follow are 0.
type Fields struct {
	View *View
	At   mem.Addr
	Err  error
}

// Fields returns the fields of the structure at a.
func (v *View) Fields(a mem.Addr) Fields { return Fields{View: v, At: a} }

// Uint reads the integer of size bytes at offset.
func (f *Fields) Uint(offset int64, size int) uint64 {
	if f.Err != nil {
		return 0
	}
	var n uint64
	n, f.Err = f.View.Uint(f.At+mem.Addr(offset), size)
	return n
}

// Word reads the word at offset.
func (f *Fields) Word(offset int64) uint64 { return f.Uint(offset, wordSize) }

// Addr reads the address at offset.
func (f *Fields) Addr(offset int64) mem.Addr { return mem.Addr(f.Uint(offset, wordSize)) }
