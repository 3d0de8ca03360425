package v8

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/vm/libuv"
)

// handles are those of the event loop that a thread of n waits in, read by live, and why they may be less.
func (n *recordedNode) handles(t *testing.T, at mem.Addr, live mem.Reader) ([]profile.Handle, error) {
	t.Helper()
	loop, err := libuv.Read(at, live, nil)
	if err != nil {
		return nil, err
	}
	var all []profile.Handle
	for _, h := range loop.Handles {
		shown := profile.Handle{Kind: h.Kind, FD: h.FD, Keeps: h.Keeps}
		if h.Kind == libuv.Signal { // whose event has that name
			shown.Detail = map[int]string{1: "SIGHUP", 2: "SIGINT", 10: "SIGUSR1", 12: "SIGUSR2",
				15: "SIGTERM"}[h.Number]
		}
		all = append(all, shown)
	}
	r := newRuntime(n.proto.layout, n.proto.builtins, nil)
	r.m, r.live, r.node = n.proto.m, live, n.proto.node
	all = r.NameLoop(loop, all)
	return all, loop.Err
}

// lessHandles says what got has that want has not, or has not and does not say so.
func lessHandles(got, want []profile.Handle, err error) string {
	left, rest := slices.Clone(want), []profile.Handle(nil)
	for _, g := range got {
		if k := slices.IndexFunc(left, func(w profile.Handle) bool { return sameHandle(g, w) }); k >= 0 {
			left = slices.Delete(left, k, k+1)
		} else {
			rest = append(rest, g)
		}
	}
	if len(left)+len(rest) > 0 && err == nil {
		return fmt.Sprintf("%+v are not as they are, and nothing says so; want %+v", rest, left)
	}
	for _, g := range rest {
		k := slices.IndexFunc(left, func(w profile.Handle) bool { return lessHandle(g, w) })
		if k < 0 {
			return fmt.Sprintf("%+v is none of the loop, which has %+v", g, left)
		}
		left = slices.Delete(left, k, k+1)
	}
	return ""
}

func sameHandle(g, w profile.Handle) bool {
	return g.Kind == w.Kind && g.FD == w.FD && g.Object == w.Object && slices.Equal(g.Calls, w.Calls)
}

// lessHandle reports whether g may be w of which not all was read. The one handle of all timers is none itself where
// they are known.
func lessHandle(g, w profile.Handle) bool {
	for _, c := range g.Calls {
		known := slices.ContainsFunc(w.Calls, func(o profile.Call) bool {
			return c == o || c.Func == o.Func && c.File == o.File && c.Line == 0 || c.Func == anonymous
		})
		if !known {
			return false
		}
	}
	return (g.Object == w.Object || g.Object == "") && (g.Kind == w.Kind || w.Kind == "") && g.FD == w.FD
}

// TestEveryReadOfLoopFails: whichever read fails, what the handles of an event loop of Node.js belong to is as it is,
// or less and said to be.
func TestEveryReadOfLoopFails(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(recorded, "handles-*.snapshot"))
	if len(files) < 2 {
		t.Fatalf("%d snapshots in %s", len(files), recorded)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".snapshot"), func(t *testing.T) {
			n := openRecorded(t, path)
			var at mem.Addr
			var want []profile.Handle
			count, err := &memory.Failing{}, error(nil)
			for i := range n.Snapshot.Threads {
				a, ok := libuv.NewFinder(n.running, nil).Find(&n.Snapshot.Threads[i], n.Maps)
				c := &memory.Failing{Reader: n.running}
				if got, fault := n.handles(t, a, c); ok && len(got) > len(want) {
					at, want, count, err = a, got, c, fault
				}
			}
			if err != nil || len(want) < 10 || count.N < 500 {
				t.Fatalf("%d handles, %d reads, %v", len(want), count.N, err)
			}
			memory.EachRead(n.running, count.N, 300, func(what string, m *memory.Failing) {
				got, err := n.handles(t, at, m)
				if got == nil {
					return // there is no list then
				}
				if why := lessHandles(got, want, err); why != "" {
					t.Errorf("%s: %s", what, why)
				}
			})
			t.Logf("%d handles, %d reads", len(want), count.N)
		})
	}
}
