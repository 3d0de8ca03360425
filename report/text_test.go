package report

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// fullDisk takes some bytes and then fails, as a file on a full disk does.
type fullDisk struct{ room int }

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(b []byte) (int, error) {
	if len(b) > d.room {
		return 0, errFull
	}
	d.room -= len(b)
	return len(b), nil
}

func TestWriteErrorsAreTold(t *testing.T) {
	for name, format := range map[string]Format{"text": Text, "JSON": JSON} {
		err := format(&fullDisk{room: 10}, redis(), Options{})
		if !errors.Is(err, errFull) {
			t.Fatalf("%s: err = %v, want %v", name, err, errFull)
		}
		if want := "write " + name + " of process 4121: no space left on device"; err.Error() != want {
			t.Errorf("%s: err = %q, want %q", name, err, want)
		}
	}
}

// Each thread is in exactly one entry, whatever the options.
func TestEntriesKeepEveryThread(t *testing.T) {
	for _, opt := range []Options{{}, {Group: true}, {Group: true, SkipFrames: 1}, {Group: true, SkipFrames: 99}} {
		for _, n := range []int{0, 1, 7, 2000} {
			seen := map[int]int{}
			shown, idle := entries(crowd(n), &opt)
			for _, t := range idle {
				seen[t.TID]++
			}
			for _, e := range shown {
				for _, th := range e.threads {
					seen[th.TID]++
				}
			}
			for i := range n {
				if seen[4121+i] != 1 {
					t.Errorf("%+v: thread %d of %d is in %d entries, want 1", opt, 4121+i, n, seen[4121+i])
				}
			}
		}
	}
}

func TestEntriesOrder(t *testing.T) {
	at := func(addrs ...uint64) profile.Stack {
		var s profile.Stack
		for i, a := range addrs {
			s.Frames = append(s.Frames, profile.Frame{Index: i, Addr: a})
		}
		s.Complete = true
		return s
	}
	d := &profile.Dump{Process: profile.Process{PID: 12}}
	for i, s := range []profile.Stack{at(1), at(1), at(2), at(1, 2), at(3), at(3)} {
		d.Threads = append(d.Threads, profile.Thread{TID: 10 + i, Stack: s})
	}
	d.Threads[5].Stack.Complete = false // the same addresses, but cut: not the same stack
	var got []int
	shown, _ := entries(d, &Options{Group: true})
	for _, e := range shown {
		got = append(got, e.threads[0].TID)
	}
	want := []int{12, 13, 14, 15, 10}
	if len(got) != len(want) {
		t.Fatalf("entries begin with threads %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("entries begin with threads %v, want %v", got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("redis-server", 0, 0, true)
	f.Add("\x1b]0;title\x07\u202e\xff\r\n  #0  0x0000000000000000  main", 3, -7, false)
	f.Add(strings.Repeat("\xf0\x9f", text.MaxName/2+1), -1, 1<<30, true)
	f.Fuzz(func(t *testing.T, name string, module, skip int, group bool) {
		calm, wild := hostile("x"), hostile(name)
		for _, d := range []*profile.Dump{calm, wild} {
			d.Threads[1].Stack.Frames[0].Module = module
			d.Threads[2].Syscall.Number = int64(skip)
		}
		checkText(t, calm, wild, Options{Group: group, SkipFrames: skip})
		checkText(t, calm, wild, Options{Group: group, Verbose: true})
	})
}

// checkText fails if a name of wild can make a line, or a character that does not print.
func checkText(t *testing.T, calm, wild *profile.Dump, opt Options) {
	t.Helper()
	var got, plainOut bytes.Buffer
	if err := Text(&got, wild, opt); err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(got.Bytes()) {
		t.Errorf("output is no UTF-8: %q", got.String())
	}
	if at := bytes.IndexFunc(got.Bytes(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 {
		t.Fatalf("output has %.4q: %q", got.Bytes()[at:], got.String())
	}
	if err := Text(&plainOut, calm, opt); err != nil {
		t.Fatal(err)
	}
	// An empty name may leave lines out, as that of the reason of a cut; none adds one.
	if g, w := strings.Count(got.String(), "\n"), strings.Count(plainOut.String(), "\n"); g > w {
		t.Errorf("output has %d lines, with harmless names %d:\n%s", g, w, got.String())
	}
}

func BenchmarkText1001Threads(b *testing.B) {
	d := crowd(1001)
	for i := range d.Threads {
		s := &d.Threads[i].Stack
		for len(s.Frames) < 30 {
			s.Frames = append(s.Frames, native(len(s.Frames), 0x55d0c1a2b3c4, "aeProcessEvents", 0x184, "src/ae.c", 347,
				server))
		}
	}
	for _, bench := range []struct {
		name   string
		format Format
		opt    Options
	}{{"grouped", Text, Options{Group: true}}, {"no-group", Text, Options{}}, {"json", JSON, Options{}}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bench.format(io.Discard, d, bench.opt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
