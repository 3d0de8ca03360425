//go:build linux

package tracer

import (
	"runtime/debug"
	"sync"
)

// collector counts the stops under way in this program. The percentage of the garbage
// collector is one for all, so two stops at a time must not each restore it.
var collector struct {
	sync.Mutex
	held    int
	percent int
}

// holdGC keeps the garbage collector from starting, as it would park the tracer thread
// while a target is stopped. The returned function lets it start again.
func holdGC() (resume func()) {
	collector.Lock()
	defer collector.Unlock()
	if collector.held++; collector.held == 1 {
		collector.percent = debug.SetGCPercent(-1)
	}
	return func() {
		collector.Lock()
		defer collector.Unlock()
		if collector.held--; collector.held == 0 {
			debug.SetGCPercent(collector.percent)
		}
	}
}
