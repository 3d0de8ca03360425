package v8

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/suspended"
	"github.com/fpstack/fpstack/work"
)

// suspendedList is what was listed of a recording: each call by its functions, and by those of which it waits for.
type suspendedList struct {
	calls []string
	whole []string // with what they wait for
}

// listSuspended lists the async functions of n, whose memory is read by live.
func (n *recordedNode) listSuspended(live mem.Reader, b *work.Budget) (suspendedList, error) {
	r := newRuntime(n.proto.layout, n.proto.builtins, b)
	r.m, r.live, r.node = n.proto.m, live, n.proto.node
	r.table, r.searched = n.Maps, suspended.Of(module.Image{Memory: live, Replayed: true, Search: n.search})
	fibers, err := r.Fibers(n.Snapshot)
	names := map[uint64]string{}
	for _, f := range fibers {
		var stack unwind.Stack
		id := f.ID
		r.FiberStack(id, &stack)
		for i := range stack.Frames {
			if f := &stack.Frames[i]; f.Site == 0 && f.Note != "" {
				names[id] += "?: " // it is there, and says that it could not be named
			}
			for _, x := range r.Frames(stack.Frames[i].Site) {
				line := fmt.Sprint(x.Line)
				if x.Note != "" { // it says that the line is not where it waits
					line = ""
				}
				names[f.ID] += x.Func + ":" + line + " "
			}
		}
	}
	var out suspendedList
	for _, f := range fibers {
		name := names[f.ID]
		out.calls = append(out.calls, name)
		for _, id := range f.AwaitedBy {
			name += "< " + names[id]
		}
		out.whole = append(out.whole, name+string(f.Wait))
	}
	slices.Sort(out.calls)
	slices.Sort(out.whole)
	return out, err
}

func (n *recordedNode) search(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error {
	for _, r := range n.flat() {
		if r.Start >= m.Start && r.End() <= m.End && !yield(r.Start, r.Data) {
			break
		}
	}
	return nil
}

// flat are the ranges that were kept, those that lie together as one.
func (n *recordedNode) flat() []mem.Range {
	if n.joined == nil {
		all := slices.Clone(n.Running)
		slices.SortStableFunc(all, func(a, b mem.Range) int { return int(int64(a.Start) - int64(b.Start)) })
		for _, r := range all {
			last := len(n.joined) - 1
			if last < 0 || r.Start > n.joined[last].End() {
				n.joined = append(n.joined, mem.Range{Start: r.Start, Data: slices.Clone(r.Data)})
			} else if held := int(n.joined[last].End() - r.Start); held < len(r.Data) {
				n.joined[last].Data = append(n.joined[last].Data, r.Data[held:]...)
			}
		}
	}
	return n.joined
}

func suspendedRecordings(t *testing.T) []string {
	files, _ := filepath.Glob(filepath.Join(recorded, "suspended-*.snapshot"))
	if len(files) < 2 {
		t.Fatalf("%d snapshots in %s", len(files), recorded)
	}
	return files
}

// scriptChains are the functions of each chain that the script of a recording says, and how many calls there are.
func scriptChains(t *testing.T, path string) (chains []string, count int) {
	b, err := os.ReadFile(strings.TrimSuffix(path, ".snapshot") + ".json")
	var said struct {
		Suspended []struct {
			Count  int
			Frames [][]any
			By     string
		}
	}
	if err == nil {
		err = json.Unmarshal(b, &said)
	}
	if err != nil || len(said.Suspended) == 0 {
		t.Fatalf("%s: %v", path, err)
	}
	for _, s := range said.Suspended {
		chain := ""
		for _, f := range s.Frames {
			chain += fmt.Sprintf("%v:%v ", f[0], f[2])
		}
		for _, by := range said.Suspended { // one of several branches alone
			if len(by.Frames) > 0 && by.Frames[0][0] == s.By {
				chain += fmt.Sprintf("%v:%v ", by.Frames[0][0], by.Frames[0][2])
			}
		}
		chains = append(chains, chain)
		count += s.Count
	}
	return chains, count
}

// TestEveryReadOfSuspendedFails: whichever read fails, the async functions that wait are those that do, or fewer, or
// their chains are parts of what they are; and that is said. None is lost for that reason to nobody who would settle
// what it waits for.
func TestEveryReadOfSuspendedFails(t *testing.T) {
	for _, path := range suspendedRecordings(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".snapshot"), func(t *testing.T) {
			n := openRecorded(t, path)
			chains, count := scriptChains(t, path)
			counter := &memory.Failing{Reader: n.running}
			want, err := n.listSuspended(counter, nil)
			if err != nil || len(want.calls) != count {
				t.Fatalf("%d calls, want %d, %v", len(want.calls), count, err)
			}
			memory.EachRead(n.running, counter.N, 250, func(what string, m *memory.Failing) {
				got, err := n.listSuspended(m, nil)
				if slices.Equal(got.whole, want.whole) {
					return
				}
				for _, c := range got.calls {
					if !slices.ContainsFunc(chains, func(s string) bool { return isPartOf(c, s) }) {
						t.Errorf("%s: %q is no chain of the script (%v)", what, c, err)
					}
				}
				if nobody(got) > nobody(want) {
					t.Errorf("%s: %d wait for what nobody settles, want %d", what, nobody(got), nobody(want))
				}
				if len(got.calls) < len(want.calls) && err == nil {
					t.Errorf("%s: %d calls, want %d, and nothing says so", what, len(got.calls), len(want.calls))
				}
			})
			t.Logf("%d calls, %d reads", len(want.calls), counter.N)
		})
	}
}

// isPartOf reports whether all functions of c follow each other in chain, but those that have no name, and for the
// lines and classes that are not known.
func isPartOf(c, chain string) bool {
	got, all := strings.Fields(c), strings.Fields(chain)
	for from := 0; from+len(got) <= len(all); from++ {
		if slices.EqualFunc(got, all[from:from+len(got)], func(g, w string) bool {
			return g == w || g == "?:" || strings.HasSuffix(w, "."+g) ||
				strings.HasSuffix(g, ":") && strings.HasPrefix(w, g)
		}) {
			return true
		}
	}
	return strings.Contains(c, "<anonymous>:")
}

func nobody(l suspendedList) (n int) {
	for _, c := range l.whole {
		if strings.HasSuffix(c, string(snapshot.FiberNobody)) {
			n++
		}
	}
	return n
}

// TestSuspendedDamaged: words of the memory that are others, as of a hostile process, make no fault and no endless
// work.
func TestSuspendedDamaged(t *testing.T) {
	path := suspendedRecordings(t)[1]
	n := openRecorded(t, path)
	ranges := n.flat()
	var addresses []uint64
	for _, r := range ranges {
		addresses = append(addresses, uint64(r.Start)|1)
	}
	random := rand.New(rand.NewPCG(1, 2))
	rounds := 60
	if *memory.Full {
		rounds = 3000
	}
	for range rounds {
		damaged := *n
		damaged.joined = nil
		for _, r := range ranges {
			data := slices.Clone(r.Data)
			for range 1 + len(data)/256 {
				at := random.IntN(len(data))&^7 + int(-r.Start&7)
				if at+8 > len(data) {
					continue
				}
				w := addresses[random.IntN(len(addresses))]
				if random.IntN(3) == 0 {
					w = random.Uint64() >> random.IntN(64)
				}
				order.PutUint64(data[at:], w)
			}
			damaged.joined = append(damaged.joined, mem.Range{Start: r.Start, Data: data})
		}
		b := work.New(4<<30, 256<<20)
		if _, err := damaged.listSuspended(mem.NewOverlay(nil, damaged.joined...), b); errors.Is(err, work.ErrSpent) {
			t.Error("it took more than four seconds")
		}
	}
}
