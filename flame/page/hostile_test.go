package page

import (
	"bytes"
	"fmt"
	"io"
	"math"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// Tasks that look alike are one, wherever they stand: the steps from task to task stay above 0.
func TestRunsOfTasksThatAreOne(t *testing.T) {
	b := profile.NewBuilder(profile.WallTime)
	p := b.Profile()
	p.Modules = []profile.Module{{Path: "/bin/prog"}}
	p.Tasks = []profile.Task{{TID: 1, Thread: "a"}, {TID: 2, Thread: "b"}, {TID: 1, Thread: "a"}}
	n := b.Child(0, b.Frame(fn("main")))
	for task := range p.Tasks {
		b.Add(n, task, 10)
		p.Runs = append(p.Runs, profile.Run{Task: task, Stack: n, At: time.Duration(20 * task), For: 10})
	}
	g := newGraph(p, Options{})
	if len(g.head.Tasks) != 2 {
		t.Fatalf("%d tasks, want 2", len(g.head.Tasks))
	}
	var got []string
	for _, r := range g.runs {
		got = append(got, fmt.Sprintf("%d: %d+%d", r.Task, r.At, r.For))
	}
	if want := "[0: 0+10 0: 40+10 1: 20+10]"; fmt.Sprint(got) != want {
		t.Errorf("runs %v, want %s", got, want)
	}
}

func allocated(do func()) uint64 {
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	do()
	goruntime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A name of 256 KiB that many frames share is cleaned once, and the picture is not made of it.
func TestLongNames(t *testing.T) {
	const size, files = 1 << 18, 100
	for what, name := range map[string]string{"letters": strings.Repeat("ä", size/2),
		"plain": strings.Repeat("a", size)} {
		b := profile.NewBuilder(profile.SamplesCount)
		for i := range files {
			b.Add(b.Child(0, b.Frame(profile.Frame{Func: name, File: fmt.Sprint(i), Module: -1})), -1, 1)
		}
		for form, write := range map[string]func(io.Writer, *profile.Profile, Options) error{"html": HTML, "svg": SVG} {
			var out bytes.Buffer
			got := allocated(func() {
				if err := write(&out, b.Profile(), Options{Static: true}); err != nil {
					t.Error(err)
				}
			})
			if got > 60*size {
				t.Errorf("%s of %s: %d KiB allocated for one name of %d", form, what, got>>10, size>>10)
			}
			if out.Len() > 6*size {
				t.Errorf("%s of %s: %d KiB written", form, what, out.Len()>>10)
			}
		}
	}
}

// Ten names of 100 KB in a hundred thousand boxes: each box has a tip, which shows less of a name then, and it is said.
func TestManyBoxesOfLongNames(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount)
	var names []profile.FrameID
	for _, letter := range "abcdefg<&ä" {
		names = append(names, b.Frame(profile.Frame{Func: strings.Repeat(string(letter), 100_000), Module: -1}))
	}
	for i := range 2000 {
		n := b.Child(0, b.Frame(profile.Frame{Func: fmt.Sprint("top ", i), Module: -1}))
		for k := range 50 {
			n = b.Child(n, names[(i+k)%len(names)])
		}
		b.Add(n, -1, 1)
	}
	var out bytes.Buffer
	var said []string
	if err := SVG(&out, b.Profile(), Options{Warn: func(s string) { said = append(said, s) }}); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 64<<20 {
		t.Errorf("%d MiB written", out.Len()>>20)
	}
	if want := "names are cut in tips after "; len(said) != 1 || !strings.Contains(said[0], want) ||
		!strings.Contains(out.String(), want) {
		t.Errorf("said %q, want %q there and in the picture", said, want)
	}
	if boxes := strings.Count(out.String(), "<g><title>"); boxes < 100_000 {
		t.Errorf("%d boxes, want all of 100,000", boxes)
	}
}

// Of hundreds of thousands of functions each is held once.
func TestManyFunctions(t *testing.T) {
	const functions, most = 200_000, 800 // bytes of each
	b := profile.NewBuilder(profile.SamplesCount)
	for i := range functions {
		b.Add(b.Child(0, b.Frame(profile.Frame{Func: fmt.Sprint("work ", i), Module: -1})), -1, 1)
	}
	p := b.Profile()
	var out bytes.Buffer
	got := allocated(func() {
		if err := SVG(&out, p, Options{}); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%d bytes each", got/functions)
	if got > most*functions {
		t.Errorf("%d bytes allocated for a function, want at most %d", got/functions, most)
	}
}

// As a float the largest sum is one more than an int64 holds.
func TestLargestSum(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount)
	b.Profile().Modules = []profile.Module{{Path: "/bin/prog"}}
	b.Add(b.Child(0, b.Frame(fn("main"))), -1, math.MaxInt64)
	for form, write := range map[string]func(io.Writer, *profile.Profile, Options) error{"html": HTML, "svg": SVG} {
		got := written(t, write, b.Profile(), Options{Static: true})
		if strings.Contains(got, "-9,223") || !strings.Contains(got, ": 9,223,372,036,854,775,807, 100.00 %") {
			t.Errorf("%s of the largest sum: %s", form, got)
		}
	}
}
