package module

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrShrunk is the cause of a read that met the end of a file which was longer when it was mapped.
var ErrShrunk = errors.New("file became shorter while it was read")

// Guard runs f and turns a memory fault in it (a mapped file that became shorter) and any
// panic of a parser on malformed bytes into an error that names what, a path. It covers the
// calling goroutine alone, not those that f starts.
func Guard(what string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		// The runtime's error of a fault at a real address has the address; that of a nil
		// pointer, which is a parser's fault, has not.
		if _, ok := r.(interface{ Addr() uintptr }); ok {
			err = fmt.Errorf("read %q: %w", what, ErrShrunk)
			return
		}
		err = fmt.Errorf("parse %q: malformed: %v", what, r)
	}()
	return f()
}
