package cfi

import (
	"errors"
	"fmt"
)

// ErrNoFDE says that no frame description entry covers the address. The code there was
// made without call frame information, or is no code. Where the reason may also be that
// entries were left out of the index, the error says so and wraps both.
var ErrNoFDE = errors.New("no FDE covers the address")

// FormatError says where bytes do not follow the format, or use a part of it that is not
// supported.
type FormatError struct {
	Section string // ".eh_frame", ".eh_frame_hdr" or ".debug_frame"
	Entry   string // "CIE", "FDE", "entry" (not known which), "header"
	Offset  uint64 // of the entry in the section, bytes
	Err     error  // the cause, not nil
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("parse %s at %s+%#x: %v", e.Entry, e.Section, e.Offset, e.Err)
}

func (e *FormatError) Unwrap() error { return e.Err }

var (
	errTruncated = errors.New("data ends early")
	errLEB       = errors.New("LEB128 number exceeds 64 bits")
)
