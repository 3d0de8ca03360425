package cmd

import (
	"bytes"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
)

func TestWriteHottest(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime)
	b.Profile().Modules = []profile.Module{{Path: "/usr/bin/x\x1b[2J"}, {Path: "[vdso]"}}
	root := b.Child(0, b.Frame(profile.Frame{Func: "main", Module: 0}))
	work := b.Child(root, b.Frame(profile.Frame{Func: "work\x1b[31m", Module: 0}))
	again := b.Child(work, b.Frame(profile.Frame{Func: "work\x1b[31m", Module: 0, Line: 7}))
	wait := b.Child(root, b.Frame(profile.Frame{Func: "epoll_wait", Kind: profile.Kernel, Module: -1}))
	clock := b.Child(root, b.Frame(profile.Frame{Module: 1, ModuleAddr: 0x12}))
	python := b.Child(root, b.Frame(profile.Frame{Func: "compile", Kind: profile.Python, Module: -1,
		File: "/usr/lib/python3/re/__init__.py", Line: 7}))
	b.Add(work, -1, 1, 100, 90)
	b.Add(again, -1, 1, 200, 200)
	b.Add(wait, -1, 1, 600, 0)
	b.Add(clock, -1, 1, 70, 10)
	b.Add(python, -1, 1, 30, 0)
	// Of 1000 ns and 300 ns of CPU: work 300 and 290, counted once where it calls itself.
	const want = "    self    total      cpu  function (share of wall: 1.00 µs of thread time)\n" +
		"   60.0%    60.0%     0.0%  epoll_wait  (waits)\n" +
		"   30.0%    30.0%    96.7%  work\\x1b[31m  [x\\x1b[2J]\n" +
		"    7.0%     7.0%     3.3%  [vdso]+0x12\n" +
		"    3.0%     3.0%     0.0%  compile  re/__init__.py\n"
	var got bytes.Buffer
	writeHottest(&got, dresser(nil), b.Profile(), 1, 10, 0, wholeText(b.Profile(), 1))
	if got.String() != want {
		t.Errorf("got\n%s, want\n%s", got.String(), want)
	}

	got.Reset()
	writeHottest(&got, dresser(nil), b.Profile(), 2, 1, 0, wholeText(b.Profile(), 2))
	if want := "    self    total  function (share of cpu: 300 ns of thread time)\n   96.7%    96.7%  work\\x1b[31m  " +
		"[x\\x1b[2J]\n"; got.String() != want {
		t.Errorf("one function by CPU time: got\n%s, want\n%s", got.String(), want)
	}

	got.Reset()
	writeHottest(&got, func(_ report.Part, s string) string { return "<" + s + ">" }, b.Profile(), 1, 1, 0,
		wholeText(b.Profile(), 1))
	if want := "<epoll_wait>  <(waits)>\n"; !bytes.HasSuffix(got.Bytes(), []byte(want)) {
		t.Errorf("dressed: got %q, want %q at its end", got.String(), want)
	}

	got.Reset()
	writeHottest(&got, dresser(nil), profile.NewBuilder(profile.SamplesCount).Profile(), 0, 10, 0, "samples")
	if got.Len() > 0 {
		t.Errorf("no samples: got %q", got.String())
	}
}

// TestWrapperIsNotTheWait: libc's function and the system call of its name are two functions, and what all threads
// together have is said to be that.
func TestWrapperIsNotTheWait(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime)
	b.Profile().Modules = []profile.Module{{Path: "/usr/lib/libc.so.6"}}
	wrapper := b.Child(0, b.Frame(profile.Frame{Func: "clock_nanosleep", Module: 0}))
	b.Add(wrapper, -1, 1, 1e9, 1e9)
	b.Add(b.Child(wrapper, b.Frame(profile.Frame{Func: "clock_nanosleep", Kind: profile.Kernel, Module: -1})), -1, 99,
		99e9, 0)
	const want = "    self    total      cpu  function (share of wall: 100 s of thread time)\n" +
		"   99.0%    99.0%     0.0%  clock_nanosleep  (waits)\n" +
		"    1.0%   100.0%   100.0%  clock_nanosleep  [libc.so.6]\n"
	var got bytes.Buffer
	if writeHottest(&got, dresser(nil), b.Profile(), 1, 10, 0, wholeText(b.Profile(), 1)); got.String() != want {
		t.Errorf("got\n%s, want\n%s", got.String(), want)
	}
}
