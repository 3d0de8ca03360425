package hotspot

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// recorded has what tests/java has recorded of several versions of the JVM.
const recorded = "../../testdata/snapshots/java"

// process is a recorded JVM, with threads that are in its code.
type process struct {
	*snapshot.Snapshot
	symbols map[string]mem.Addr
	running mem.Reader
	set     *module.Set
	walker  *unwind.Walker
	runtime only
	budget  *work.Budget // nil allows everything
}

// only is the one runtime of a walk.
type only struct{ *Runtime }

func (o *only) All() []unwind.Runtime { return []unwind.Runtime{o.Runtime} }
func (o *only) Meet(*module.Module)   {}
func (o *only) Scan(*module.Set)      {}

// open opens each recorded process whose name begins with prefix.
func open(t testing.TB, prefix string, each func(name string, p *process)) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(recorded, prefix+"*.snapshot"))
	if len(files) == 0 {
		t.Fatalf("nothing is recorded in %s", recorded)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := snapshot.NewReader(bytes.NewReader(b), nil).Read()
		if err != nil {
			t.Fatal(err)
		}
		p := &process{Snapshot: s, running: mem.NewOverlay(nil, s.Running...), symbols: map[string]mem.Addr{}}
		if b, err = os.ReadFile(strings.TrimSuffix(path, "snapshot") + "json"); err == nil {
			err = json.Unmarshal(b, &p.symbols)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.set = module.NewSet(s.Maps, module.Image{})
		t.Cleanup(func() { p.set.Close() })
		p.walker = unwind.NewWalker(p.set, nil)
		p.walker.Use(&p.runtime)
		each(strings.TrimSuffix(filepath.Base(path), ".snapshot"), p)
	}
}

// port is that of the machine on which p was recorded.
func (p *process) port() *port { return portOf(p.Threads[0].Arch.Machine) }

// begin is a Runtime of p that reads live.
func (p *process) begin(live mem.Reader) *Runtime {
	r := newRuntime(p.port(), nil, func(name string) (mem.Addr, bool) { a, ok := p.symbols[name]; return a, ok },
		module.Image{Memory: live, Budget: p.budget})
	r.Mapped(p.set)
	p.runtime.Runtime = r
	return r
}

// named is a stack with the logical frames of each of its frames.
type named struct {
	unwind.Stack
	logical [][]profile.Frame
}

// stacks walks and names the threads by r, with what was copied of each as change leaves it.
func (p *process) stacks(r *Runtime, live mem.Reader, change func([]mem.Range) []mem.Range) []named {
	var out []named
	p.walker.Renew()
	for i := range p.Threads {
		th := p.Threads[i]
		th.Copied = change(slices.Clone(th.Copied))
		s := named{Stack: p.walker.Walk(&th, p.Reader(&th, live), unwind.Options{})}
		for k := range s.Frames {
			s.logical = append(s.logical, r.Frames(s.Frames[k].Site))
		}
		out = append(out, s)
	}
	return out
}

func same(r []mem.Range) []mem.Range { return r }

// java are the functions of Java of s, innermost first, without the JVM's own.
func (s *named) java() []string {
	var out []string
	for _, l := range s.logical {
		for _, f := range l {
			if !f.Stub {
				out = append(out, f.Func)
			}
		}
	}
	return out
}

// TestRecorded: rings of calls that were recorded have the chain that they can have, without a JVM.
func TestRecorded(t *testing.T) {
	open(t, "ring-", func(name string, p *process) {
		r := p.begin(p.running)
		s := p.stacks(r, p.running, same)[0]
		got := s.java()
		if n := len(got); n < 4 || got[n-1] != "Ring.main" || got[n-2] != "Ring.round" {
			t.Fatalf("%s: got %q: %v", name, got, s.Err)
		}
		got = got[:len(got)-2]
		slices.Reverse(got)
		for i, f := range got {
			if f != "Ring."+string("abc"[i%3]) && (f != "Ring.leaf" || i != len(got)-1) {
				t.Errorf("%s: frame %d from the outermost is %s", name, i, f)
			}
		}
	})
}

// TestRecordedARM64: wherever a thread was stopped that was stepped in an emulated arm64, in the interpreter, in what
// C1 and C2 made, in stubs, and in exceptions on their way, it has the callers that it can have. Each thread of these
// recordings is another instruction of one thread, with OpenJDK 17 and 21 of Debian.
func TestRecordedARM64(t *testing.T) {
	for prefix, want := range map[string][]string{
		"arm64-throws": {"Throws.main", "Throws.rounds", "Throws.work"},
		"arm64-casts":  {"Casts.main", "Casts.rounds", "Casts.work"},
		"arm64-chaos":  {"Chaos.main", "Chaos.loop", "Chaos.f1", "Chaos.f2", "Chaos.f3", "Chaos.f4"},
	} {
		open(t, prefix, func(name string, p *process) {
			for i, s := range p.stacks(p.begin(p.running), p.running, same) {
				got := s.java()
				slices.Reverse(got)
				if n := min(len(got), len(want)); n == 0 || !slices.Equal(got[:n], want[:n]) {
					pc, _ := p.Threads[i].Registers.PC()
					t.Errorf("%s: at %#x outermost first %q, want %q: %v", name, uint64(pc), got, want, s.Err)
				}
			}
			if len(p.Threads) < 30 {
				t.Errorf("%s: %d places alone", name, len(p.Threads))
			}
		})
	}
}

// TestNear: what is known of the nearest place alone is marked, and only of code that was interrupted.
func TestNear(t *testing.T) {
	near := 0
	for _, prefix := range []string{"ring-", "chaos-"} {
		open(t, prefix, func(name string, p *process) {
			for _, s := range p.stacks(p.begin(p.running), p.running, same) {
				for i, l := range s.logical {
					f := &s.Frames[i]
					marked := slices.ContainsFunc(l, func(f profile.Frame) bool { return f.Near })
					if marked != strings.Contains(f.Note, inexactNote) || marked && !f.Interrupted {
						t.Errorf("%s: frame %d is near: %t; interrupted: %t, %q", name, i, marked, f.Interrupted,
							f.Note)
					}
					if marked {
						near++
					}
				}
			}
		})
	}
	if near == 0 {
		t.Error("no frame is known by the nearest place")
	}
}

// TestProved: a place in the code cache where Copy or a walk has found code is proved to be code, wherever the mappings
// end that were read last; a place that nobody has looked at is not.
func TestProved(t *testing.T) {
	open(t, "ring-25-tiered", func(name string, p *process) {
		r := p.begin(p.running)
		var at mem.Addr
		for _, f := range p.stacks(r, p.running, same)[0].Frames {
			if j := r.jvm.Load(); j.stubs(f.LookupPC()) && r.known.start(j, f.LookupPC()) != 0 {
				at = f.LookupPC()
			}
		}
		if region, ok := r.Region(at); !ok || !region.Proved {
			t.Errorf("%s: %#x is of %+v, %t: want it proved", name, uint64(at), region, ok)
		}
		if region, ok := p.begin(p.running).Region(at); !ok || region.Proved {
			t.Errorf("%s: %#x is of %+v, %t, and nobody has looked: want it not proved", name, uint64(at), region, ok)
		}
	})
}

// TestMet: a method that many interpreted frames of a stack have is read once.
func TestMet(t *testing.T) {
	found := 0
	open(t, "ring-", func(name string, p *process) {
		live := &failing{Reader: p.running}
		r := p.begin(live)
		first := p.stacks(r, live, same)[0]
		interpreted := 0
		for _, l := range first.logical {
			if len(l) == 1 && l[0].Tier == interpreterTier {
				interpreted++
			}
		}
		if interpreted < 10 {
			return
		}
		found++
		live.n = 0
		if again := p.stacks(r, live, same)[0]; !slices.Equal(again.java(), first.java()) {
			t.Errorf("%s: the same stack has other frames: %q", name, again.java())
		}
		if most := 10 * interpreted; live.n > most {
			t.Errorf("%s: %d reads for %d interpreted frames of a few methods, want at most %d", name, live.n,
				interpreted, most)
		}
	})
	if found == 0 {
		t.Error("no recorded ring is interpreted")
	}
}
