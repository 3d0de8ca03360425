//go:build linux

package v8

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/work"
)

// TestManyLines: lines of 12 texts that have four million each are named, and do not stay in memory.
func TestManyLines(t *testing.T) {
	b := work.New(work.Steps, work.Memory)
	x := startWith(t, vm.NewTable(vm.Kinds, b), newest(t), nil, "newlines.js")
	stacks := x.Stacks(x.Stop(t))
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	named := 0
	for _, f := range stacks[0].Frames {
		if f.File == fmt.Sprintf("/%s.js", f.Func) && f.Line == 4<<20-7 {
			named++
		}
	}
	const most = 96 << 20
	t.Logf("%d functions, %d MiB", named, after.HeapAlloc>>20)
	if named != 12 || after.HeapAlloc > most {
		t.Errorf("%d of 12 functions have their line; %d bytes are in use, want at most %d", named, after.HeapAlloc,
			most)
	}
	runtime.KeepAlive(x)
}
