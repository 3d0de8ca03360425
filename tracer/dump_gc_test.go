//go:build linux

package tracer

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestCollectLater: the first collection brings back the usual percentage, also while a stop holds the collector.
func TestCollectLater(t *testing.T) {
	before := debug.SetGCPercent(usualPercent)
	defer debug.SetGCPercent(before)
	percent := func() int {
		p := debug.SetGCPercent(-1)
		debug.SetGCPercent(p)
		return p
	}
	CollectLater()
	if p := percent(); p != laterPercent {
		t.Errorf("percentage %d before the first collection, want %d", p, laterPercent)
	}
	resume := holdGC()
	runtime.GC()
	held := func() int {
		collector.Lock()
		defer collector.Unlock()
		return collector.percent
	}
	for end := time.Now().Add(10 * time.Second); held() != usualPercent && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if p := percent(); p != -1 {
		t.Errorf("percentage %d in a stop, want it held off", p)
	}
	resume()
	if p := percent(); p != usualPercent {
		t.Errorf("percentage %d behind the first collection, want %d", p, usualPercent)
	}
}
