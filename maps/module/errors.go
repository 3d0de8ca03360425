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
