//go:build linux

package dotnet

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

var record = flag.String("record", "", "folder that TestRecord writes snapshots and what must come of them to")

// TestRecord writes, for vm/coreclr, a snapshot of threads that were interrupted in managed code, with all that was
// read of the memory to walk and name them; and what the runtime's own perf map says of their frames.
func TestRecord(t *testing.T) {
	if *record == "" {
		t.Skip("it writes files: -record FOLDER")
	}
	const way = "DOTNET_PerfMapEnabled=3"
	if runtime.GOARCH == "arm64" { // no server is there
		for _, version := range append(folders(), singleFiles()...) {
			t.Run(version, func(t *testing.T) {
				s, _ := startKnown(t, version, way)
				s.record(t, version)
			})
		}
		return
	}
	for _, version := range quick {
		t.Run(version, func(t *testing.T) {
			s := start(t, version, way)
			go s.work()
			s.record(t, version)
		})
	}
}

const recordedThreads = 5

func (s *server) record(t *testing.T, version string) {
	path := fmt.Sprintf("/tmp/perf-%d.map", s.PID())
	t.Cleanup(func() { os.Remove(path) })
	var out *snapshot.Snapshot
	var threads []snapshot.Thread
	for i := 0; len(threads) < recordedThreads; i++ {
		walked.Pause(i)
		shot := s.Stop(t)
		for k, stack := range s.Stacks(shot) {
			if f := stack.Frames; len(f) > 0 && f[0].Kind.String() == "dotnet" && len(f) > 4 {
				threads, out = append(threads, shot.Threads[k]), shot
			}
		}
	}
	out.Threads = threads
	text := s.retrace(t, version, out, readMap(t, path))
	var file bytes.Buffer
	if err := snapshot.Write(&file, out); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(*record, "dotnet-"+version)
	if err := os.WriteFile(base+".snapshot", file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base+".txt", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// retrace walks and names the threads of shot anew, puts what it reads of the memory into shot, and returns what the
// map says of their frames: up to the first one that is not managed.
func (s *server) retrace(t *testing.T, version string, shot *snapshot.Snapshot, m map[uint64]method) string {
	t.Helper()
	image := s.Image()
	keeper := mem.NewKeeper(image.Memory, 64<<20)
	image.Memory = keeper
	set := module.NewSet(shot.Maps, image)
	defer set.Close()
	runtimes := vm.NewTable(vm.Kinds, nil).Process(image)
	runtimes.Scan(set)
	names := resolve.New(set, resolve.Options{NoLines: true})
	w := unwind.NewWalker(set, names)
	w.Use(runtimes)
	var text strings.Builder
	for i := range set.All() {
		x := set.All()[i]
		d := symbol.OpenDynamic(x)
		if d == nil {
			continue
		}
		if v, _, ok := d.Lookup("g_dacTable"); ok {
			fmt.Fprintf(&text, "version %s\nslots %#x\n", version, uint64(x.Addr(v)))
			if v, _, ok := d.Lookup("DotNetRuntimeContractDescriptor"); ok {
				fmt.Fprintf(&text, "contract %#x\n", uint64(x.Addr(v)))
			}
		}
	}
	facts := runtimes.ThreadFacts(shot)
	for i := range shot.Threads {
		th := &shot.Threads[i]
		walked := w.Walk(th, shot.Reader(th, keeper), unwind.Options{})
		stack := names.Stack(&walked)
		fmt.Fprintf(&text, "thread %d %d\n", th.TID, facts[th.TID].ID)
		for _, f := range stack.Frames {
			if f.Kind.String() != "dotnet" {
				break
			}
			name := "?"
			if x, ok := m[f.Addr-f.Offset]; ok {
				name = x.name
			}
			fmt.Fprintf(&text, "%#x %#x %s\n", f.Addr, f.Addr-f.Offset, name)
		}
	}
	shot.Memory = append(shot.Memory, keeper.Ranges()...)
	return text.String()
}
