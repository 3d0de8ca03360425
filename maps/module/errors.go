package module

import (
	"errors"
	"fmt"
)

// ErrNotELF says that a mapped file is no ELF object: a font, a cache, code that a JIT
// compiler keeps in a memfd.
var ErrNotELF = errors.New("not an ELF object")

// ErrTooMany says that a process has more modules, or larger ones, than fpstack reads.
var ErrTooMany = errors.New("too many or too large modules")

// FormatError says which part of an ELF object cannot be right.
type FormatError struct {
	Offset uint64 // in the file
	What   string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("malformed at %#x: %s", e.Offset, e.What)
}

// ErrNoSearch says that memory cannot be searched: it is a recording that has nothing of it.
var ErrNoSearch = errors.New("its memory cannot be searched")

// ErrSwapped says that a mapping has pages that are swapped out, which are not read.
var ErrSwapped = errors.New("a part of its memory is swapped out, and was not searched")
