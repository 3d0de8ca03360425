//go:build linux

package osthread

import (
	"fmt"
	"runtime/debug"
)

// FaultError is a panic of code that ran under [Guard]. It ends what was under way there and nothing else.
type FaultError struct {
	Value any    // of the panic
	Stack []byte // where it happened, as runtime/debug.Stack shows
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("a fault of fpstack, please report it: %v", e.Value)
}

// Unwrap is the value of the panic, if that is an error.
func (e *FaultError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Guard runs f. A panic in it becomes a *FaultError.
func Guard(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &FaultError{v, debug.Stack()}
		}
	}()
	f()
	return nil
}
