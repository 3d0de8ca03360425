package hotspot

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/waits"
)

var full = flag.Bool("full", false, "each read and each copied range fails, not one of some")

// stride is how many reads, and ranges, lie between two that fail.
func stride(n int) int {
	if *full {
		return 1
	}
	return max(1, n/60)
}

// failing is memory whose read number at fails, from 1.
type failing struct {
	mem.Reader
	at, n int
}

func (f *failing) ReadMem(b []byte, a mem.Addr) (int, error) {
	if f.n++; f.n == f.at {
		return 0, &mem.FaultError{Addr: a, Len: len(b), Err: mem.ErrUnmapped}
	}
	return f.Reader.ReadMem(b, a)
}

// TestEveryReadFails: whichever read of the process fails, and whichever copied range is missing or cut, each stack is
// the same, or has less and says so: no frame has the name of another.
func TestEveryReadFails(t *testing.T) {
	for _, prefix := range []string{"ring-", "chaos-", "arm64-"} {
		open(t, prefix, func(name string, p *process) {
			t.Run(name, func(t *testing.T) { everyReadFails(t, p) })
		})
	}
}

func everyReadFails(t *testing.T, p *process) {
	begun := &failing{Reader: p.running}
	p.begin(begun)
	reads := begun.n
	all := &failing{Reader: p.running}
	want := p.stacks(p.begin(all), all, same)
	if all.n-reads < 5 || len(want[0].java()) < 4 {
		t.Fatalf("%d reads, %q", all.n, want[0].java())
	}
	seen := map[string]int{}
	try := func(what string, at int, change func([]mem.Range) []mem.Range) {
		m := &failing{Reader: p.running, at: at}
		r := p.begin(m)
		compare(seen, what, want, p.stacks(r, m, change))
	}
	for at := 1; at <= reads; at += stride(reads) {
		try(fmt.Sprintf("read %d of the JVM's tables", at), at, same)
	}
	for at := reads + 1; at <= all.n; at += stride(all.n - reads) {
		try(fmt.Sprintf("read %d", at), at, same)
	}
	n := len(p.Threads[0].Copied)
	for at := 0; at < n; at += stride(n) {
		try(fmt.Sprintf("range %d is missing", at), 0, without(at))
		try(fmt.Sprintf("range %d is cut", at), 0, cut(at))
	}
	t.Logf("%d reads, %d of them of the tables, %d ranges", all.n, reads, n)
	for _, fault := range slices.Sorted(maps.Keys(seen)) {
		t.Errorf("%d × %s", seen[fault], fault)
	}
}

func without(at int) func([]mem.Range) []mem.Range {
	return func(r []mem.Range) []mem.Range { return slices.Delete(r, at, at+1) }
}

func cut(at int) func([]mem.Range) []mem.Range {
	return func(r []mem.Range) []mem.Range {
		r[at].Data = r[at].Data[:len(r[at].Data)/2]
		return r
	}
}

// compare notes in seen what is wrong of got, beside want.
func compare(seen map[string]int, what string, want, got []named) {
	for i := range want {
		if why := less(&want[i], &got[i]); why != "" {
			if seen[why]++; seen[why] == 1 {
				seen[why+" ("+what+")"]++
			}
		}
	}
}

// less says why got is not want, or less of it and marked; "" if it is.
func less(want, got *named) string {
	marked := got.Stop != want.Stop || got.Err != nil && fmt.Sprint(got.Err) != fmt.Sprint(want.Err)
	for i := range got.Frames {
		g := &got.Frames[i]
		marked = marked || g.Gap || g.Unsure || g.Note != ""
		if i >= len(want.Frames) {
			if marked {
				return ""
			}
			return "there are more frames"
		}
		w := &want.Frames[i]
		if g.PC != w.PC || g.SP != w.SP {
			if !marked {
				return fmt.Sprintf("frame %d is another, without a mark", i)
			}
			return wrongName(want, got, i)
		}
		if !slices.Equal(names(got.logical[i]), names(want.logical[i])) && !marked {
			return fmt.Sprintf("frame %d is %q without a mark, want %q", i, names(got.logical[i]),
				names(want.logical[i]))
		}
		if g.Stub && g.Note != "" { // the JVM's code at PC, and why it is not known what that executes
			continue
		}
		if n := names(got.logical[i]); len(n) > 0 && !g.Unsure && !isLess(n, names(want.logical[i])) {
			return fmt.Sprintf("frame %d is %q, want %q", i, n, names(want.logical[i]))
		}
	}
	if len(got.Frames) < len(want.Frames) && !marked {
		return fmt.Sprintf("%d frames of %d, without a mark", len(got.Frames), len(want.Frames))
	}
	return ""
}

// isLess reports whether n are the last of those in all: where nothing describes a place, inlined ones are missing, and
// that is said.
func isLess(n, all []string) bool {
	return len(n) <= len(all) && slices.Equal(n, all[len(all)-len(n):])
}

// wrongName says which frame from number i on is of no function that want has, "" for none.
func wrongName(want, got *named, i int) string {
	for _, l := range got.logical[i:] {
		for _, n := range names(l) {
			has := func(w []profile.Frame) bool { return slices.Contains(names(w), n) }
			if !slices.ContainsFunc(want.logical, has) {
				return "a frame is " + n + ", which is not on the stack"
			}
		}
	}
	return ""
}

func names(l []profile.Frame) []string {
	var out []string
	for _, f := range l {
		out = append(out, f.Func)
	}
	return out
}

// edges are what threads of a recorded process wait for, as "waiter owner name".
func (p *process) edges(r *Runtime, change func([]mem.Range) []mem.Range) (out []string, list []waits.Lock) {
	parked, _ := r.of([]profile.Frame{{Func: "jdk.internal.misc.Unsafe.park"}})
	stack := &unwind.Stack{Frames: []unwind.Frame{{Site: parked, Runtime: r}}}
	s := *p.Snapshot
	s.Threads = slices.Clone(s.Threads)
	for i := range s.Threads {
		s.Threads[i].Copied = change(slices.Clone(s.Threads[i].Copied))
	}
	list = r.Locks(&s, func(int) *unwind.Stack { return stack })
	for _, l := range list {
		for _, w := range l.Waiters {
			out = append(out, fmt.Sprintf("%d %d %s", w, l.Owner, l.Name))
		}
	}
	slices.Sort(out)
	return out, list
}

// comms are the threads of p by their ids.
func (p *process) comms() map[int]string {
	out := map[int]string{}
	for i := range p.Threads {
		out[p.Threads[i].TID] = p.Threads[i].Comm
	}
	return out
}

// TestRecordedLocks: who waits for whom in processes that are deadlocked, and no wait that is none where a read fails.
func TestRecordedLocks(t *testing.T) {
	pairs := []string{"l-1 l-2", "l-2 l-1", "m-é m-日", "m-日 m-é", "reader writer", "third m-é"}
	open(t, "dead-", func(name string, p *process) {
		comms := p.comms()
		all := &failing{Reader: p.running}
		want, list := p.edges(p.begin(all), same)
		var got []string
		for _, l := range list {
			for _, w := range l.Waiters {
				got = append(got, comms[w]+" "+comms[l.Owner])
			}
			if !l.Instant {
				t.Errorf("%s: %s was not read in the stop", name, l.Name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, pairs) {
			t.Errorf("%s: got %q, want %q", name, got, pairs)
		}
		check := func(what string, edges []string, list []waits.Lock) {
			t.Helper()
			for _, l := range list {
				for _, w := range l.Waiters {
					if l.Owner != 0 && !slices.Contains(pairs, comms[w]+" "+comms[l.Owner]) {
						t.Errorf("%s: %s: %s waits for %s", name, what, comms[w], comms[l.Owner])
					}
				}
			}
			_ = edges
		}
		for at := 1; at <= all.n; at += stride(all.n) {
			edges, list := p.edges(p.begin(&failing{Reader: p.running, at: at}), same)
			check(fmt.Sprintf("read %d", at), edges, list)
		}
		most := 0
		for i := range p.Threads {
			most = max(most, len(p.Threads[i].Copied))
		}
		guarded := func(change func(int) func([]mem.Range) []mem.Range, at int) func([]mem.Range) []mem.Range {
			return func(r []mem.Range) []mem.Range {
				if at < len(r) {
					return change(at)(r)
				}
				return r
			}
		}
		for at := range most {
			for _, change := range []func(int) func([]mem.Range) []mem.Range{without, cut} {
				edges, list := p.edges(p.begin(p.running), guarded(change, at))
				check(fmt.Sprintf("range %d", at), edges, list)
			}
		}
		t.Logf("%s: %d edges, %d reads", name, len(want), all.n)
	})
}

// TestRecordedNames: threads have the names that Java gives them.
func TestRecordedNames(t *testing.T) {
	open(t, "dead-", func(name string, p *process) {
		r := p.begin(p.running)
		comms := p.comms()
		facts := r.ThreadFacts(p.Snapshot)
		want := []string{"l-1", "l-2", "m-é", "m-日", "third", "waits", "parks", "semaphore", "writer", "reader"}
		for tid, f := range facts {
			if slices.Contains(want, comms[tid]) && f.Name != comms[tid] {
				t.Errorf("%s: thread %q has the name %q", name, comms[tid], f.Name)
			}
			want = slices.DeleteFunc(want, func(n string) bool { return n == f.Name })
		}
		if len(want) > 0 {
			t.Errorf("%s: no thread is called %q", name, want)
		}
		all := &failing{Reader: p.running}
		p.begin(all).ThreadFacts(p.Snapshot)
		for at := 1; at <= all.n; at += stride(all.n) {
			for tid, f := range p.begin(&failing{Reader: p.running, at: at}).ThreadFacts(p.Snapshot) {
				if f.Name != "" && f.Name != facts[tid].Name {
					t.Errorf("%s: read %d fails: thread %q has the name %q", name, at, facts[tid].Name, f.Name)
				}
			}
		}
	})
}
