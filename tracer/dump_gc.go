//go:build linux

package tracer

import (
	"runtime"
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

// Percentages of the garbage collector, whose heap begins at 4 MB for 100.
const (
	laterPercent = 400
	usualPercent = 100
)

// CollectLater lets the collector of this program begin at 16 MB, and from then on work as usual: a dump or a look that
// never needs so much is not collected at all, which takes a tenth of its CPU time.
func CollectLater() {
	setGC(laterPercent)
	first := &struct{ self *int }{new(int)} // is dropped by the first collection
	runtime.AddCleanup(first, setGC, usualPercent)
}

// setGC sets the percentage, behind the stops that are under way.
func setGC(percent int) {
	collector.Lock()
	defer collector.Unlock()
	if collector.held > 0 {
		collector.percent = percent
		return
	}
	debug.SetGCPercent(percent)
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
