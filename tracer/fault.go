//go:build linux

package tracer

import (
	"fmt"
	"runtime/debug"

	"github.com/fpstack/fpstack/errand"
)

// FaultError is a panic of code that ran on a thread of this package: of ours, of a Copier, of what was given to
// [Sampler.Do]. It ends what was under way there and nothing else.
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

// guard runs f. A panic in it becomes a *FaultError.
func guard(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &FaultError{v, debug.Stack()}
		}
	}()
	f()
	return nil
}

// ask is [errand.Do]; a panic of f becomes a *FaultError.
func ask[T any](o *errand.Owner, of errand.FileSystem, f func(alive func()) (T, error), drop func(T)) (T, error) {
	return errand.Do(o, of, func(alive func()) (v T, err error) {
		if fault := guard(func() { v, err = f(alive) }); fault != nil {
			err = fault
		}
		return v, err
	}, drop)
}
