package flame

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

var update = flag.Bool("update", false, "write the goldens again")

// checkGolden compares got with a file of testdata.
func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs: got\n%s\nwant\n%s", path, got, want)
	}
}

// Addresses of the program in sampled.
const (
	appBase  = 0x55d0c0000000
	libcBase = 0x7f3a1b000000
)

// sampled is a recording of ten seconds at 100 Hz as record makes it: wall time is shown first.
//
//	main 4121 "app"       main -> work [inl inlined] PC in inl     30 samples, all on CPU
//	                      main -> read (libc) -> kernel read       50 samples, waiting
//	                      main -> app+0x3000 (no name)              5 samples
//	worker 4122 "io one"  start -> <signal> -> interrupted spin    15 samples
func sampled() *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime)
	p := b.Profile()
	p.Default = 1
	p.Period, p.PeriodType = 10*time.Millisecond, profile.WallTime
	p.Start = time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
	p.Duration = 10 * time.Second
	p.Command = []string{"/usr/bin/app", "--serve"}
	p.Comments = []string{"2 of 1000 samples were late"}
	p.Modules = []profile.Module{
		{Path: "/usr/bin/app", BuildID: "0011aabb", Base: appBase, Start: appBase + 0x1000, End: appBase + 0x9000,
			Offset: 0x1000, Symbols: []string{".symtab"}},
		{Path: "/usr/lib/libc.so.6", BuildID: "99ff", Base: libcBase, Start: libcBase + 0x26000, End: libcBase +
			0x17b000,
			Offset: 0x26000},
	}
	app := func(name string, at uint64, line int) profile.Frame {
		return profile.Frame{Func: name, Addr: appBase + at, ModuleAddr: at, Module: 0, File: "/src/app.c", Line: line,
			Offset: 4}
	}
	libc := func(name string, at uint64) profile.Frame {
		return profile.Frame{Func: name, Addr: libcBase + at, ModuleAddr: at, Module: 1}
	}
	stack := func(frames ...profile.Frame) profile.NodeID {
		n := profile.NodeID(0)
		for _, f := range frames {
			n = b.Child(n, b.Frame(f))
		}
		return n
	}
	main := b.Task(profile.Task{PID: 4121, TID: 4121, Process: "app", Thread: "app"})
	worker := b.Task(profile.Task{PID: 4121, TID: 4122, Process: "app", Thread: "io one"})
	linkage := app("ns::work(int)", 0x2345, 40)
	linkage.Linkage = "_ZN2ns4workEi"
	inl := profile.Frame{Func: "inl", Inlined: true, Module: 0, File: "/src/inl.h", Line: 7}
	spin := stack(app("main", 0x1234, 10), linkage, inl)
	wait := stack(app("main", 0x1244, 11), libc("read", 0xf0010),
		profile.Frame{Func: "read", Kind: profile.Kernel, Module: -1})
	nameless := stack(app("main", 0x1254, 12),
		profile.Frame{Kind: profile.Unknown, Module: 0, Addr: appBase + 0x3000, ModuleAddr: 0x3000})
	signal := libc("__restore_rt", 0x3c050)
	signal.Kind = profile.Signal
	handler := stack(libc("start_thread", 0x89130), app("spin", 0x4444, 70), signal, app("handler", 0x4800, 90))
	const ms = 1_000_000
	b.Add(spin, main, 30, 300*ms, 300*ms)
	b.Add(wait, main, 50, 500*ms, 0)
	b.Add(nameless, main, 5, 50*ms, 40*ms)
	b.Add(handler, worker, 15, 150*ms, 150*ms)
	at := func(t int) time.Duration { return time.Duration(t) * time.Millisecond }
	p.Runs = []profile.Run{
		{Task: main, Stack: spin, At: 0, For: at(100)},
		{Task: main, Stack: wait, At: at(100), For: at(500)},
		{Task: main, Stack: spin, At: at(600), For: at(200)},
		{Task: main, Stack: nameless, At: at(900), For: at(50)},
		{Task: worker, Stack: handler, At: at(200), For: at(150)},
	}
	return p
}

func checkValid(t *testing.T, p *profile.Profile) {
	t.Helper()
	if err := p.CheckValid(); err != nil {
		t.Error(err)
	}
}

func folded(t *testing.T, p *profile.Profile, opt FoldedOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteFolded(&out, p, opt); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
