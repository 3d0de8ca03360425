package cmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/sampler"
)

func TestWriteHottest(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime)
	b.Profile().Modules = []profile.Module{{Path: "/usr/bin/x\x1b[2J"}, {Path: "[vdso]"}}
	root := b.Child(0, b.Frame(profile.Frame{Func: "main", Module: 0}))
	work := b.Child(root, b.Frame(profile.Frame{Func: "work\x1b[31m", Module: 0}))
	again := b.Child(work, b.Frame(profile.Frame{Func: "work\x1b[31m", Module: 0, Line: 7}))
	wait := b.Child(root, b.Frame(profile.Frame{Func: "epoll_wait", Kind: profile.Kernel, Module: -1}))
	clock := b.Child(root, b.Frame(profile.Frame{Module: 1, ModuleAddr: 0x12}))
	b.Add(work, -1, 1, 100, 90)
	b.Add(again, -1, 1, 200, 200)
	b.Add(wait, -1, 1, 600, 0)
	b.Add(clock, -1, 1, 100, 10, 0)
	// Of 1000 ns and 300 ns of CPU: work 300 and 290, counted once where it calls itself.
	const want = "    self    total      cpu  function (share of wall: 1.00 µs of thread time)\n" +
		"   60.0%    60.0%     0.0%  epoll_wait  (waits)\n" +
		"   30.0%    30.0%    96.7%  work\\x1b[31m  [x\\x1b[2J]\n" +
		"   10.0%    10.0%     3.3%  [vdso]+0x12\n"
	var got bytes.Buffer
	writeHottest(&got, dresser(nil), b.Profile(), 1, 10, 0)
	if got.String() != want {
		t.Errorf("got\n%s, want\n%s", got.String(), want)
	}

	got.Reset()
	writeHottest(&got, dresser(nil), b.Profile(), 2, 1, 0)
	if want := "    self    total  function (share of cpu: 300 ns of thread time)\n   96.7%    96.7%  work\\x1b[31m  " +
		"[x\\x1b[2J]\n"; got.String() != want {
		t.Errorf("one function by CPU time: got\n%s, want\n%s", got.String(), want)
	}

	got.Reset()
	writeHottest(&got, func(_ report.Part, s string) string { return "<" + s + ">" }, b.Profile(), 1, 1, 0)
	if want := "<epoll_wait>  (waits)\n"; !bytes.HasSuffix(got.Bytes(), []byte(want)) {
		t.Errorf("dressed: got %q, want %q at its end", got.String(), want)
	}

	got.Reset()
	writeHottest(&got, dresser(nil), profile.NewBuilder(profile.SamplesCount).Profile(), 0, 10, 0)
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
	if writeHottest(&got, dresser(nil), b.Profile(), 1, 10, 0); got.String() != want {
		t.Errorf("got\n%s, want\n%s", got.String(), want)
	}
}

func TestProgressText(t *testing.T) {
	s := &sampler.Stats{Elapsed: 12300 * time.Millisecond, Samples: 1203, Stacks: 1, Threads: 5, Overhead: 0.004}
	for whole, want := range map[time.Duration]string{
		30 * time.Second: "recording 12.3 s of 30.0 s  1,203 samples  1 stack  5 threads  overhead 0.4 %  lost 0",
		0:                "recording 12.3 s  1,203 samples  1 stack  5 threads  overhead 0.4 %  lost 0",
	} {
		if got := progressText(s, whole); got != want {
			t.Errorf("of %v: got %q, want %q", whole, got, want)
		}
	}
}

func TestRemarks(t *testing.T) {
	if got := remarks(&sampler.Stats{Ticks: 100, Samples: 5}); len(got) != 0 {
		t.Errorf("nothing to say: got %q", got)
	}
	s := &sampler.Stats{Ticks: 2970, LateTicks: 30, Lost: 4, Behind: 3, Overhead: 0.17, MaxOverhead: 0.05, Stops: 900,
		Peeks: 100, Cut: 1000, Late: 2, Notes: []string{"note"}}
	want := []string{"30 of 3,000 samples were late; the next sample carries their time",
		"1 sample was lost: a thread could not be stopped in time",
		"3 samples were lost: stacks came faster than they could be unwound",
		"fpstack used 17.0 % of one CPU, more than --max-overhead 5 %: sampling less often does not lower what " +
			"it takes to start, to follow many threads and to read symbols",
		"1,000 of 1,000 stacks were cut: the outermost frame was not reached",
		"2 of 1,000 stacks were read in part after the stop: the outer frames may be of a later moment", "note"}
	got := remarks(s)
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

// TestShortText: what runtimes did not get is said with -v alone, and is no remark, which the written profile has.
func TestShortText(t *testing.T) {
	s := &sampler.Stats{Short: 1200, Shortfall: "toy: memory was not copied"}
	if got := remarks(s); len(got) != 0 {
		t.Errorf("remarks %q, want none", got)
	}
	for _, verbose := range []bool{true, false} {
		var got bytes.Buffer
		r := &recording{app: &app{stderr: &got}, o: &recordOptions{verbose: verbose}}
		r.o.colour.word = "never"
		r.summarize(profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime).Profile(), s)
		const want = "  ! of 1,200 samples a runtime did not get all that it asked for, the last: " +
			"toy: memory was not copied\n"
		if strings.Contains(got.String(), want) != verbose {
			t.Errorf("-v %v: %q", verbose, got.String())
		}
	}
}

func TestUnseen(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    sampler.Stats
		want string
	}{
		{"nothing", sampler.Stats{Heard: true, AllHeard: true}, ""},
		{"commands", sampler.Stats{Heard: true, AllHeard: true, UnmetProcesses: 2334},
			"2,334 commands started and ended between two samples"},
		{"one of each", sampler.Stats{Heard: true, AllHeard: true, UnmetProcesses: 1, UnmetThreads: 1},
			"1 command and 1 thread started and ended between two samples"},
		{"not all was heard", sampler.Stats{Heard: true, UnmetThreads: 3},
			"at least 3 threads started and ended between two samples"},
		{"time alone, of a kernel that shows no more", sampler.Stats{Unseen: time.Second},
			"threads and processes that ended between two samples used 1.00 s of CPU time"},
		{"both", sampler.Stats{Heard: true, AllHeard: true, UnmetProcesses: 2, Unseen: time.Second},
			"2 commands started and ended between two samples; threads and processes that ended between two " +
				"samples used 1.00 s of CPU time"},
	} {
		if got := unseen(&tt.s); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
