package agent

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// node makes what the collector has to go through, as what is kept of programs.
type node struct {
	next *node
	_    [48]byte
}

// TestHeapFollows: with more in use than the limit that is wanted the collector runs as often as some garbage asks for,
// and not all the time; when less is in use the limit is the wanted one again.
func TestHeapFollows(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(garbage))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(leastHeap))
	const live, made = 128 << 20, 512 << 20
	var first *node
	for range live / 56 {
		first = &node{next: first}
	}
	runs := func() uint64 {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		gc := collectorTime()
		for range made / (1 << 10) {
			sink = make([]byte, 1<<10)
		}
		runtime.ReadMemStats(&after)
		runtime.GC() // which counts the time
		t.Logf("limit %d MB: %d runs of the collector in %d MB, %.2f s of CPU", debug.SetMemoryLimit(-1)>>20,
			after.NumGC-before.NumGC, made>>20, collectorTime()-gc)
		return uint64(after.NumGC - before.NumGC)
	}
	without := runs()
	tuneHeap(leastHeap)
	with := runs()
	if most := uint64(made/(live/3)) + 4; with > most || with > without/2 {
		t.Errorf("the collector ran %d times, at most %d are wanted, and %d times with the limit below what is in use",
			with, most, without)
	}
	runtime.KeepAlive(first)
	first = nil
	runtime.GC()
	tuneHeap(leastHeap)
	if got := debug.SetMemoryLimit(-1); got != leastHeap {
		t.Errorf("limit %d when nothing is in use, want %d", got, leastHeap)
	}
}

var sink []byte

// collectorTime is the CPU time of the collector so far, seconds.
func collectorTime() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64()
}
