package coreclr

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io/fs"
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
	"github.com/fpstack/fpstack/work"
)

// recordedAsync is a program with async methods that wait, three of each chain.
type recordedAsync struct {
	*snapshot.Snapshot
	told
	chains []string // what the innermost method awaits, and the methods
	ranges []mem.Range
}

const eachChain = 3

// openAsync opens each that was recorded.
func openAsync(t *testing.T, try func(t *testing.T, a *recordedAsync)) {
	files, _ := filepath.Glob("../../testdata/snapshots/dotnet/async-*.snapshot")
	if len(files) < 3 {
		t.Fatalf("%d snapshots", len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".snapshot")
		t.Run(filepath.Base(name), func(t *testing.T) {
			a := &recordedAsync{Snapshot: recordedShot(t, file)}
			text, err := os.ReadFile(name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			var head []string
			for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
				if chain, ok := strings.CutPrefix(in.Text(), "chain "); ok {
					a.chains = append(a.chains, chain)
				} else {
					head = append(head, in.Text())
				}
			}
			a.told = parseTold(t, name, strings.NewReader(strings.Join(head, "\n")))
			a.ranges = joinedRanges(a.Running)
			try(t, a)
		})
	}
}

// joinedRanges are ranges, those that lie together as one.
func joinedRanges(ranges []mem.Range) (out []mem.Range) {
	all := slices.Clone(ranges)
	slices.SortStableFunc(all, func(a, b mem.Range) int { return cmp.Compare(a.Start, b.Start) })
	for _, r := range all {
		last := len(out) - 1
		if last < 0 || r.Start > out[last].End() {
			out = append(out, mem.Range{Start: r.Start, Data: slices.Clone(r.Data)})
		} else if held := int(out[last].End() - r.Start); held < len(r.Data) {
			out[last].Data = append(out[last].Data, r.Data[held:]...)
		}
	}
	return out
}

// list lists the chains, with what they await, of the memory that live reads and ranges are of. Methods that could not
// be named are "?".
func (a *recordedAsync) list(t *testing.T, live mem.Reader, ranges []mem.Range, b *work.Budget) ([]string, error) {
	image := module.Image{Memory: live, Replayed: true, Budget: b,
		Path: func(string) (*module.File, error) { return nil, fs.ErrNotExist },
		Mapping: func(*maps.Mapping) (*module.File, error) {
			return nil, fs.ErrNotExist
		},
		Search: func(m *maps.Mapping, yield func(mem.Addr, []byte) bool) error {
			for _, r := range ranges {
				if r.Start >= m.Start && r.End() <= m.End && !yield(r.Start, r.Data) {
					break
				}
			}
			return nil
		}}
	_, r := walkerIn(t, a.Snapshot, &a.told, image)
	if r == nil {
		return nil, memory.ErrPlanted
	}
	fibers, err := r.Fibers(a.Snapshot)
	var out []string
	for _, f := range fibers {
		var stack unwind.Stack
		r.FiberStack(f.ID, &stack)
		text := f.State + ":"
		for i := range stack.Frames {
			name := "?"
			if all := r.Frames(stack.Frames[i].Site); len(all) > 0 && !strings.HasPrefix(all[0].Func, "[") {
				name = strings.TrimSuffix(all[0].Func, " (async)")
				name = name[strings.LastIndexByte(name, '.')+1:]
			} else if stack.Frames[i].Note == "" && (len(all) == 0 || all[0].Note == "") {
				name = "unmarked"
			}
			text += " " + name
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out, errors.Join(err, r.sections.Load().err)
}

// isPart reports whether a chain that was listed is one of those that were recorded, or a part of one: what it awaits
// may be unknown then, and methods may have no name.
func (a *recordedAsync) isPart(got string) bool {
	state, methods, _ := strings.Cut(got, ":")
	return slices.ContainsFunc(append([]string{"awaits a timer: Sleeps Both", "awaits a SemaphoreSlim: Locks Both"},
		a.chains...), func(want string) bool { // of several that it waits for one alone may be known
		wait, all, _ := strings.Cut(want, ":")
		g, w := strings.Fields(methods), strings.Fields(all)
		for from := 0; from+len(g) <= len(w); from++ {
			if slices.EqualFunc(g, w[from:from+len(g)], func(g, w string) bool { return g == "?" || g == w }) &&
				(state == awaited{}.text() || state == wait && from == 0 || from > 0 &&
					(state == awaited{kind: awaitedHidden}.text() || state == awaited{kind: awaitedOthers}.text())) {
				return true
			}
		}
		return false
	})
}

// TestEveryReadOfAsyncFails: whichever read fails, the async methods that wait are those that do, or fewer, or parts of
// their chains, and that is said; none is another, or waits for something else.
func TestEveryReadOfAsyncFails(t *testing.T) {
	openAsync(t, func(t *testing.T, a *recordedAsync) {
		whole := &memory.Failing{Reader: mem.NewOverlay(nil, a.ranges...)}
		want, err := a.list(t, whole, a.ranges, nil)
		if err != nil || len(want) != eachChain*len(a.chains) {
			t.Fatalf("%d chains, want %d: %v", len(want), eachChain*len(a.chains), err)
		}
		for i, chain := range want {
			if !slices.Contains(a.chains, chain) || i%eachChain > 0 && chain != want[i-1] {
				t.Errorf("%q is none that was recorded, or not as often", chain)
			}
		}
		memory.EachRead(whole.Reader, whole.N, 250, func(what string, m *memory.Failing) {
			got, err := a.list(t, m, a.ranges, nil)
			if slices.Equal(got, want) {
				return
			}
			for _, chain := range got {
				if !a.isPart(chain) {
					t.Errorf("%s: %q is no chain, or one of another state (%v)", what, chain, err)
				}
			}
			if count(got) < count(want) && err == nil {
				t.Errorf("%s: %d methods, want %d, and nothing says so: %q", what, count(got), count(want), got)
			}
		})
		t.Logf("%d chains, %d reads", len(want), whole.N)
	})
}

// count is how many methods chains have.
func count(chains []string) (n int) {
	for _, c := range chains {
		_, methods, _ := strings.Cut(c, ":")
		n += len(strings.Fields(methods))
	}
	return n
}

// TestAsyncDamaged: words of the memory that are others, as of a hostile process, make no fault and no endless work.
func TestAsyncDamaged(t *testing.T) {
	openAsync(t, func(t *testing.T, a *recordedAsync) {
		var addresses []uint64
		for _, r := range a.ranges {
			addresses = append(addresses, uint64(r.Start))
		}
		random := rand.New(rand.NewPCG(1, 2))
		rounds := 40
		if *memory.Full {
			rounds = 3000
		}
		for range rounds {
			var damaged []mem.Range
			for _, r := range a.ranges {
				data := slices.Clone(r.Data)
				for range len(data) / 256 {
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
				damaged = append(damaged, mem.Range{Start: r.Start, Data: data})
			}
			b := work.New(4<<30, 256<<20)
			if _, err := a.list(t, mem.NewOverlay(nil, damaged...), damaged, b); errors.Is(err, work.ErrSpent) {
				t.Error("it took more than four seconds")
			}
		}
	})
}
