package dump_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
)

const amd64Recorded = "../testdata/snapshots/amd64/"

// replayGoroutines replays what was saved of a Go program, without the process, after change.
func replayGoroutines(t *testing.T, change func(s *snapshot.Snapshot)) *profile.Dump {
	t.Helper()
	f, err := os.Open(amd64Recorded + "goroutines.snapshot")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := snapshot.NewReader(f, nil).Read()
	if err != nil {
		t.Fatal(err)
	}
	change(s)
	elf := gunzip(t, amd64Recorded+"goroutines.elf.gz")
	opt := options()
	opt.Fibers = dump.AllFibers
	d, err := dump.NewReplayer(bytes.NewReader(file(t, s)), func(f *snapshot.File) (*module.File, error) {
		return &module.File{Data: elf, Path: f.Path}, nil
	}, opt).Next()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// shownFibers lists the goroutines of the program itself: "1 [sync.WaitGroup.Wait] main.main", each stack without the
// functions of Go's own packages, and the wrappers that its compiler makes.
func shownFibers(d *profile.Dump) []string {
	var all []string
	for _, f := range d.Fibers {
		if f.System {
			continue
		}
		line := fmt.Sprintf("%d [%s]", f.ID, f.State)
		s := &d.FiberStacks[f.Stack]
		for i := range s.Stack.Frames {
			if name := s.Stack.Frames[i].Func; strings.HasPrefix(name, "main.") && !strings.Contains(name, ".gowrap") {
				line += " " + name
			}
		}
		if !s.Stack.Complete {
			line += " cut: " + s.Stack.Stop
		}
		if len(s.CreatedBy) > 0 {
			line += fmt.Sprintf(" by %s in %d", s.CreatedBy[0].Func, f.Creator)
		}
		all = append(all, line)
	}
	return all
}

// TestReplayGoroutines: what was saved shows the goroutines of the source beside it, in the order of the runtime.
func TestReplayGoroutines(t *testing.T) {
	d := replayGoroutines(t, func(*snapshot.Snapshot) {})
	got := shownFibers(d)
	for i := range got { // ids depend on the release of Go
		_, got[i], _ = strings.Cut(got[i], " ")
	}
	const received = "[chan receive] main.receive main.receive main.receive by main.main in 1"
	want := []string{"[sync.WaitGroup.Wait] main.main", received, received, received,
		"[sync.Mutex.Lock] main.main.func1 by main.main in 1", "[select] main.main.func2 by main.main in 1",
		"[sleep] by main.main in 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(d.Problems) > 0 {
		t.Errorf("problems %q", d.Problems)
	}
}

// TestReplayGoroutinesLeftOut: where the copying ended early those that are missing are counted; of those whose words
// are hostile the others are none the worse.
func TestReplayGoroutinesLeftOut(t *testing.T) {
	whole := replayGoroutines(t, func(*snapshot.Snapshot) {})
	for _, tc := range []struct {
		name   string
		change func(s *snapshot.Snapshot)
		most   int
		want   string
	}{
		{"half of what was copied", func(s *snapshot.Snapshot) { s.Whole = s.Whole[:len(s.Whole)/2] },
			len(whole.Fibers) - 1, "left out"},
		{"nothing but the list", func(s *snapshot.Snapshot) { s.Whole = s.Whole[:1] }, 0, ""},
		{"words of all ones", func(s *snapshot.Snapshot) {
			for i := range s.Whole {
				b := bytes.Clone(s.Whole[i].Data)
				for k := range b {
					if k >= 8 && i > 0 {
						b[k] = 0xff
					}
				}
				s.Whole[i].Data = b
			}
		}, len(whole.Fibers), ""},
		{"a list that names one goroutine a million times", nameAgain, 8<<20/256 + 1000, "left out"},
	} {
		d := replayGoroutines(t, tc.change)
		if len(d.Fibers) > tc.most || tc.want != "" && !strings.Contains(strings.Join(d.Problems, "; "), tc.want) {
			t.Errorf("%s: %d goroutines of %d, problems %q; want at most %d and %q", tc.name, len(d.Fibers),
				len(whole.Fibers), d.Problems, tc.most, tc.want)
		}
	}
}

// nameAgain makes the first goroutine of the list in s all of a million.
func nameAgain(s *snapshot.Snapshot) {
	const n, at = 1 << 20, 0x10000000000 // where nothing else is
	order := binary.LittleEndian
	for i := range s.Whole {
		head := s.Whole[i].Data
		if len(head) != 16 {
			continue
		}
		list := slices.IndexFunc(s.Whole, func(r mem.Range) bool { return uint64(r.Start) == order.Uint64(head) })
		if list < 0 || uint64(len(s.Whole[list].Data)) != 8*order.Uint64(head[8:]) {
			continue
		}
		again := bytes.Repeat(s.Whole[list].Data[:8], n)
		s.Whole[i].Data = order.AppendUint64(order.AppendUint64(nil, at), n)
		s.Whole = append(s.Whole, mem.Range{Start: at, Data: again})
		return
	}
}
