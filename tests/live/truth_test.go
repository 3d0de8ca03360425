//go:build linux

package live

import (
	"slices"
	"strings"
	"testing"
)

// TestSleepers compares the names of frames with the sources: threads.c and its twins in
// Rust and Go say what is on the stack of each of their threads.
func TestSleepers(t *testing.T) {
	const depth = 20
	for _, p := range livePrograms {
		if !strings.HasPrefix(p.name, "threads") || p.name == "threads-stripped" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			begin, middle, last := "bottom", "descend", "thread_main"
			switch {
			case strings.Contains(p.name, "-go"):
				begin, middle, last = "main.bottom", "main.descend", "main.sleeper"
			case strings.Contains(p.name, "-rust"):
				begin, middle, last = "threads::bottom", "threads::descend", "threads::sleeper"
			}
			want := append([]string{begin}, slices.Repeat([]string{middle}, depth)...)
			d := dumpJSON(t, runTarget(t, p.name, p.args...).pid)
			found := 0
			for i := range d.Threads {
				names := d.Threads[i].functions()
				at := slices.Index(names, begin)
				if at < 0 || at+1 < len(names) && names[at+1] == "main" {
					continue
				}
				found++
				if got := names[at:]; len(got) < depth+2 || !slices.Equal(got[:depth+1], want) || got[depth+1] != last {
					t.Errorf("thread %d: got %v, want %v and %s", d.Threads[i].TID, got, want, last)
				}
			}
			if found != 2 {
				t.Errorf("%d threads are in %s, want 2", found, begin)
			}
		})
	}
}

// TestDeep walks a stack of 100,000 frames. Each call of descend returns to the same place
// but the innermost.
func TestDeep(t *testing.T) {
	t.Parallel()
	const depth = 100_000
	for _, name := range []string{"deep", "deep-fp"} {
		t.Run(name, func(t *testing.T) {
			p := runTarget(t, name, "100000")
			d := dumpJSON(t, p.pid, "--max-frames", "0")
			compareThreads(t, newRow(name), d, euStack(t, p.pid), "eu-stack")
			var deepest []frame
			for i := range d.Threads {
				if th := &d.Threads[i]; len(th.Stack.Frames) > len(deepest) {
					deepest = th.Stack.Frames
					if !th.Stack.Complete {
						t.Errorf("stack is cut: %s", th.Stack.Detail)
					}
				}
			}
			calls := map[string]int{}
			for i, f := range deepest {
				if f.Index != i {
					t.Fatalf("frame %d has index %d", i, f.Index)
				}
				if f.Function == "descend" {
					calls[f.Address]++
				}
			}
			// Two addresses: the call of bottom, once, and that of descend.
			if len(calls) != 2 || slices.Max(values(calls)) != depth-1 || slices.Min(values(calls)) != 1 {
				t.Errorf("frames of descend by address: %v, want 1 and %d", calls, depth-1)
			}
			if got := deepest[1].Function; got != "bottom" {
				t.Errorf("frame 1 is %q, want bottom", got)
			}
		})
	}
}

func values(m map[string]int) []int {
	var vs []int
	for _, v := range m {
		vs = append(vs, v)
	}
	return vs
}

// TestSignals: the frame below the trampoline is where the signal came, to the instruction.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		mode string
		want []string // second_handler ends in a jump to sleep_here, and has no frame then
	}{
		{"fault", []string{"sleep_here", "handler", "(signal)", "inner", "middle", "outer", "main"}},
		{"raise", []string{"sleep_here", "handler", "(signal)", "libc", "inner", "middle", "outer", "main"}},
		{"nested", []string{"sleep_here", "(signal)", "libc", "handler", "(signal)", "libc", "inner", "middle",
			"outer", "main"}},
	} {
		for _, name := range []string{"signals", "signals-fp", "signals-static", "signals-m32"} {
			t.Run(name+" "+tt.mode, func(t *testing.T) {
				d := dumpJSON(t, runTarget(t, name, tt.mode).pid)
				got := signalPath(t, d, d.Threads[0].Stack.Frames)
				if len(got) < len(tt.want) || !slices.Equal(got[:len(tt.want)], tt.want) {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			})
		}
	}
}

// signalPath names the frames from sleep_here on, trampolines as (signal); consecutive ones that are none
// of the program's own functions are "libc".
func signalPath(t *testing.T, d *dump, frames []frame) []string {
	t.Helper()
	own := []string{"sleep_here", "handler", "inner", "middle", "outer", "main"}
	var path []string
	for i, f := range frames {
		name := f.Function
		switch {
		case f.Kind == "signal":
			name = "(signal)"
			if i+1 < len(frames) && !frames[i+1].Interrupted {
				t.Errorf("frame %d below the trampoline is not marked as interrupted", i+1)
			}
		case !slices.Contains(own, name):
			name = "libc"
		}
		if len(path) == 0 && name == "libc" || len(path) > 0 && name == "libc" && path[len(path)-1] == "libc" {
			continue
		}
		path = append(path, name)
	}
	return path
}

// TestException: an exception in flight passes through a destructor.
func TestException(t *testing.T) {
	for _, name := range []string{"except", "except-clang"} {
		t.Run(name, func(t *testing.T) {
			names := dumpJSON(t, runTarget(t, name).pid).Threads[0].functions()
			var got []string
			for _, n := range names {
				n, _, _ = strings.Cut(n, "(")
				n, _, _ = strings.Cut(n, ".")
				n, _, _ = strings.Cut(n, " [")
				got = append(got, n)
			}
			want := []string{"pause", "Sleeper::~Sleeper", "guarded", "caller", "main"}
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("got %v, want %v", names, want)
			}
		})
	}
}
