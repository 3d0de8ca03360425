//go:build linux

package tracer

import (
	"github.com/fpstack/fpstack/errand"
	"github.com/fpstack/fpstack/tracer/osthread"
)

// ask is [errand.Do]; a panic of f becomes a *FaultError.
func ask[T any](o *errand.Owner, of errand.FileSystem, f func(alive func()) (T, error), drop func(T)) (T, error) {
	return errand.Do(o, of, func(alive func()) (v T, err error) {
		if fault := osthread.Guard(func() { v, err = f(alive) }); fault != nil {
			err = fault
		}
		return v, err
	}, drop)
}
