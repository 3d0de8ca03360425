package agent

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// garbage is how much of it an agent keeps, in percent of what it needs.
	garbage = 60
	// leastHeap is the limit of the heap where more time is taken to keep less.
	leastHeap = 96 << 20
	// tuneEvery is how often the limit is looked at.
	tuneEvery = time.Second
)

// HeapLimit is the soft limit of memory for what a configuration lets an agent hold: so many stores with so many bytes
// in memory each, processes and threads. Those of the first store, 100 processes and 10,000 threads fit into the least.
func HeapLimit(stores int, each int64, processes, threads int) int64 {
	const ofProcess, ofThread = 256 << 10, 2 << 10
	return leastHeap + int64(max(stores-1, 0))*each + int64(max(processes-100, 0))*ofProcess +
		int64(max(threads-10_000, 0))*ofThread
}

// KeepHeap holds the memory of this program near a soft limit until ctx ends. A limit below what is in use would have
// the collector run all the time: then it is what is in use and a half more. limit is asked each time.
// Source: go.dev/doc/gc-guide, "Memory limit".
func KeepHeap(ctx context.Context, limit func() int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit()))
	tick := time.NewTicker(tuneEvery)
	defer tick.Stop()
	for {
		tuneHeap(limit())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tuneHeap sets the limit to what is wanted, or what is needed.
func tuneHeap(wanted int64) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	const beside = 24 << 20 // stacks and the collector's own
	limit := max(wanted, int64(live[0].Value.Uint64())*3/2+beside)
	if now := debug.SetMemoryLimit(-1); limit > now || limit < now-now/10 { // to set it stops all goroutines
		debug.SetMemoryLimit(limit)
	}
}
