package cmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/sampler"
)

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
	if got := remarks(&sampler.Stats{Ticks: 100, Samples: 5, Stops: 1000, CallEnds: 19}); len(got) != 0 {
		t.Errorf("nothing to say: got %q", got)
	}
	s := &sampler.Stats{Ticks: 2970, LateTicks: 30, Lost: 4, Behind: 3, Overhead: 0.17, MaxOverhead: 0.05, Stops: 900,
		Peeks: 100, Cut: 1000, Late: 2, Unsure: 12, Missing: 1, CallEnds: 18, Notes: []string{"note"}}
	want := []string{"30 of 3,000 samples were late; their time is counted in the next",
		"1 sample was lost: a thread could not be stopped in time",
		"3 samples were lost: stacks came faster than they could be unwound",
		"fpstack used 17.0 % of one CPU, more than --max-overhead 5 %: sampling less often does not lower what " +
			"it takes to start, to follow many threads and to read symbols",
		"1,000 of 1,000 stacks were cut: the outermost frame was not reached",
		"2 of 1,000 stacks were read in part after the stop: the outer frames may be of a later moment",
		"12 samples have frames whose names are not sure: what names them was read after the stop, and may have " +
			"moved; a frame \"(name not sure)\" stands outside of them",
		"1 sample has frames missing that a runtime has, at \"(frames missing)\"",
		"18 samples were taken at the end of a system call, which may have begun while the thread was being stopped: " +
			"such calls took less than is shown",
		"note"}
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

// TestOverheadOnce: that a recording took more than it may is said once, by the rate that was lowered for it.
func TestOverheadOnce(t *testing.T) {
	s := &sampler.Stats{Overhead: 0.06, MaxOverhead: 0.05, BackedOff: 1,
		Notes: []string{"sampling at 70 of 99 Hz at times"}}
	if got := remarks(s); len(got) != 1 || got[0] != s.Notes[0] {
		t.Errorf("got %q, want the note alone", got)
	}
	for _, backedOff := range []uint64{0, 1} {
		s.BackedOff = backedOff
		if said := costText(s); strings.Contains(said, "of one CPU") != (backedOff > 0) {
			t.Errorf("lowered %d times: the cost is %q", backedOff, said)
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

// TestSummarized: a summary is of what a page opens with: what ran, and where most of that is a language's, its
// functions.
func TestSummarized(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime)
	loads := b.Child(0, b.Frame(profile.Frame{Func: "loads", Kind: profile.Python, Module: -1}))
	c := b.Child(loads, b.Frame(profile.Frame{Func: "scan_once", Module: -1}))
	wait := b.Child(loads, b.Frame(profile.Frame{Func: "futex", Kind: profile.Kernel, Module: -1}))
	b.Add(c, -1, 1, 100)
	b.Add(wait, -1, 1, 900)
	p := b.Profile()
	p.Default = 1
	if got, want := waitingText(p), "90 % of thread time was waiting, in futex (90 %)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, tt := range []struct {
		fold   string
		waits  bool
		hot    string
		of     int64
		folded bool
	}{
		{"auto", false, "loads", 100, true}, {"native", false, "loads", 100, true},
		{"none", false, "scan_once", 100, false},
		{"auto", true, "futex", 1000, true}, {"none", true, "futex", 1000, false},
	} {
		o := &viewOptions{waits: tt.waits, fold: choice{word: tt.fold}}
		got, note := summarized(p, o)
		hot := profile.Hottest(got, 1)[0].Name
		if hot != tt.hot || got.Totals()[1] != tt.of || (note != "") != tt.folded {
			t.Errorf("--fold %s, waits %v: %s of %d, %q; want %s of %d, a note %v", tt.fold, tt.waits, hot,
				got.Totals()[1], note, tt.hot, tt.of, tt.folded)
		}
	}
	only := profile.NewBuilder(profile.WallTime)
	only.Add(only.Child(0, only.Frame(profile.Frame{Func: "futex", Kind: profile.Kernel, Module: -1})), -1, 900)
	if got, _ := summarized(only.Profile(), &viewOptions{}); got.Totals()[0] != 900 {
		t.Error("where all waits nothing is left out")
	}
}
