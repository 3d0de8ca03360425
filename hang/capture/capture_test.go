package capture_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/capture"
	"github.com/fpstack/fpstack/profile"
)

var errGone = errors.New("it has ended")

// sampler notes what it is asked for.
type sampler struct {
	calls []string
	fails map[int]error
	takes time.Duration
}

func (s *sampler) Begin(_ context.Context, pids []int) {
	s.calls = append(s.calls, fmt.Sprint("begin ", len(pids)))
}

func (s *sampler) Sample(ctx context.Context, pid int, tids []int) (*profile.Dump, error) {
	s.calls = append(s.calls, fmt.Sprint("sample ", pid, " ", len(tids)))
	if err := s.fails[pid]; err != nil {
		return nil, err
	}
	if s.takes > 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &profile.Dump{Process: profile.Process{PID: pid}, Threads: []profile.Thread{{TID: pid, State: "S"}}}, nil
}

func (s *sampler) Asleep(context.Context, int) (*profile.Dump, error) { return nil, nil }

func (s *sampler) End() *profile.Waits {
	s.calls = append(s.calls, "end")
	return &profile.Waits{}
}

// needsProc skips t on a system that has no /proc as Linux has it.
func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/fdinfo"); err != nil {
		t.Skipf("there is no /proc to read: %v", err)
	}
}

// child starts a program that runs until the test ends.
func child(t *testing.T, argv ...string) int {
	t.Helper()
	needsProc(t)
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process.Pid
}

func TestRun(t *testing.T) {
	parent, below := os.Getpid(), child(t, "sleep", "100")
	s := &sampler{}
	c := &hang.Case{}
	var told []string
	began := time.Now()
	capture.Run(context.Background(), c, s, capture.Options{At: []time.Duration{0, 50 * time.Millisecond},
		Tree: func() []int { return []int{parent, below} }, Gone: func(error) bool { return false },
		Done: func(moment int, d *profile.Dump) { told = append(told, fmt.Sprint(moment, " ", d.Process.PID)) }})
	want := []string{}
	wantTold := []string{}
	for moment := range 2 {
		want = append(want, "begin 2", fmt.Sprint("sample ", below, " 0"), fmt.Sprint("sample ", parent, " 0"), "end")
		wantTold = append(wantTold, fmt.Sprint(moment, " ", below), fmt.Sprint(moment, " ", parent))
	}
	if !slices.Equal(s.calls, want) || !slices.Equal(told, wantTold) {
		t.Errorf("got %q, told %q, want leaves first: %q, told %q", s.calls, told, want, wantTold)
	}
	if len(c.Moments) != 2 || c.Moments[1].Waits == nil {
		t.Fatalf("got %d moments, want 2 with their waits", len(c.Moments))
	}
	for i, m := range c.Moments {
		if span := m.Counters[below]; span.Before.Time.IsZero() || span.After.Time.Before(span.Before.Time) {
			t.Errorf("moment %d: got counters %+v of the child, want readings before and after", i, span)
		}
	}
	if after := c.Moments[1].Time.Sub(began); after < 50*time.Millisecond {
		t.Errorf("the second moment came after %v, want 50 ms or more", after)
	}
}

func TestFailuresAreSaid(t *testing.T) {
	a, b := child(t, "sleep", "100"), child(t, "sleep", "100")
	s := &sampler{fails: map[int]error{a: errGone, b: errors.New("ptrace is refused")}}
	c := &hang.Case{}
	capture.Run(context.Background(), c, s, capture.Options{At: []time.Duration{0, 0, 0},
		Tree: func() []int { return []int{a, b} }, Gone: func(err error) bool { return errors.Is(err, errGone) }})
	if want := []string{"ptrace is refused"}; !slices.Equal(c.Problems, want) {
		t.Errorf("got %q, want %q, once", c.Problems, want)
	}
}

func TestBounds(t *testing.T) {
	pid := child(t, "sleep", "100")
	s := &sampler{takes: time.Hour}
	c := &hang.Case{}
	began := time.Now()
	capture.Run(context.Background(), c, s, capture.Options{At: []time.Duration{0, time.Hour},
		Process: 50 * time.Millisecond, Whole: 300 * time.Millisecond, Tree: func() []int { return []int{pid} },
		Gone: func(error) bool { return false }})
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v, want it to end with its bound", took)
	}
	if len(c.Moments) != 1 || !slices.ContainsFunc(c.Problems, func(p string) bool {
		return strings.HasPrefix(p, "1 of 2 moments")
	}) {
		t.Errorf("got %d moments and %q, want 1, and why the other is missing", len(c.Moments), c.Problems)
	}
}

// TestEndedEarly: what lacks as somebody ended us, or as a bound was over, is said with the process, in no words of a
// library.
func TestEndedEarly(t *testing.T) {
	pid := child(t, "sleep", "100")
	signalled, late := ": fpstack was ended by a signal", "not sampled: it took longer than "
	for name, tt := range map[string]struct {
		ended bool
		at    []time.Duration
		want  []string // how problems begin
	}{
		"by a signal": {true, []time.Duration{0, time.Hour}, []string{
			fmt.Sprintf("process %d: not sampled%s", pid, signalled), "1 of 2 moments were not sampled" + signalled}},
		"by its bound": {false, []time.Duration{0}, []string{fmt.Sprintf("process %d: %s", pid, late)}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s, c := &ending{ends: tt.ended, end: cancel}, &hang.Case{}
			capture.Run(ctx, c, s, capture.Options{At: tt.at, Process: 50 * time.Millisecond,
				Whole: 500 * time.Millisecond, Tree: func() []int { return []int{pid} },
				Gone: func(error) bool { return false }})
			if !slices.EqualFunc(c.Problems, tt.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", c.Problems, tt.want)
			}
		})
	}
}

// ending ends the capture in its first sample, or lasts as long as it may.
type ending struct {
	sampler
	ends bool
	end  func()
}

func (s *ending) Sample(ctx context.Context, _ int, _ []int) (*profile.Dump, error) {
	if s.ends {
		s.end()
	}
	<-ctx.Done()
	return nil, fmt.Errorf("read its maps: %w", ctx.Err())
}

// timed notes how long it is given for each process.
type timed struct {
	sampler
	given []time.Duration
}

func (s *timed) Sample(ctx context.Context, pid int, tids []int) (*profile.Dump, error) {
	if len(tids) == 0 { // not a thread that seemed to spin
		until, _ := ctx.Deadline()
		s.given = append(s.given, time.Until(until))
	}
	return s.sampler.Sample(ctx, pid, tids)
}

// TestShares: of the time for all each process has its share, as far as that is more than it has anyway.
func TestShares(t *testing.T) {
	needsProc(t)
	for _, c := range []struct {
		name        string
		processes   int
		least, most time.Duration
	}{
		{"one process", 1, 4 * time.Second, 5 * time.Second},
		{"forty processes", 40, 450 * time.Millisecond, 500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			pids := make([]int, c.processes)
			for i := range pids {
				pids[i] = os.Getpid()
			}
			s := &timed{}
			capture.Run(context.Background(), &hang.Case{}, s, capture.Options{At: []time.Duration{0, time.Millisecond},
				Process: 500 * time.Millisecond, Whole: 15 * time.Second, Tree: func() []int { return pids },
				Gone: func(error) bool { return false }})
			if len(s.given) != 2*c.processes || s.given[0] < c.least || s.given[0] > c.most {
				t.Errorf("the first of %d was given %v, want %v to %v", len(s.given), s.given[0], c.least, c.most)
			}
			if least := slices.Min(s.given); least < 450*time.Millisecond || slices.Max(s.given) > 12*time.Second {
				t.Errorf("given %v to %v", least, slices.Max(s.given))
			}
		})
	}
}

func TestSpinningThreadsAreSampledClosely(t *testing.T) {
	pid := child(t, "sh", "-c", "while :; do :; done")
	s := &sampler{}
	c := &hang.Case{}
	// How much CPU it gets is the machine's matter: the class is what Classify says, and this what follows from it.
	capture.Run(context.Background(), c, s, capture.Options{At: []time.Duration{0, 500 * time.Millisecond},
		Tree: func() []int { return []int{pid} }, Gone: func(error) bool { return false }})
	before := *c
	before.Close = nil // what these show may be another class
	spins := slices.ContainsFunc(hang.Classify(&before), func(j hang.Judged) bool { return j.Class == hang.Spinning })
	closely := 0
	for _, call := range s.calls {
		if call == fmt.Sprint("sample ", pid, " 1") {
			closely++
		}
	}
	if spins != (closely == 20) || spins != (len(c.Close) == 1) {
		t.Errorf("spins: %v; got %d close samples in %d lists", spins, closely, len(c.Close))
	}
}

func TestDescribe(t *testing.T) {
	needsProc(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	cmd := exec.Command("sh", "-c", "printf 'first\\nGeographic area: '; sleep 100; :")
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd.Stdout, cmd.Dir, cmd.Env = f, dir, []string{"SECRET=x", "MAKEFLAGS= -j2 --jobserver-auth=fifo:/tmp/GMfifo7"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	var p hang.Process
	for range 500 {
		if all := capture.Describe([]int{cmd.Process.Pid}); len(all) == 1 && all[0].LastOutput != "" {
			p = all[0]
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if p.Name != "sh" || p.Parent != os.Getpid() || p.Dir != dir || p.LastOutput != "Geographic area:" ||
		p.Jobserver != "/tmp/GMfifo7" || !slices.Contains(p.Variables, "SECRET") || p.Threads != 1 || p.Memory == 0 {
		t.Errorf("got %+v", p)
	}
	if all := capture.Describe([]int{1 << 30}); len(all) != 0 {
		t.Errorf("got %+v of a process that is not there", all)
	}
}

// TestReusedID: what was captured of a process is not held against another that got its id between two moments, nor
// one that got it while it was sampled.
func TestReusedID(t *testing.T) {
	for _, tt := range []struct {
		name   string
		starts []uint64 // one for each time that it is asked: before and after each sample
		dumps  []int    // of each moment
	}{
		{"the same", []uint64{5, 5, 5, 5, 5, 5}, []int{1, 1, 1}},
		{"between the facts and the first moment", []uint64{9, 9, 9, 9, 9, 9}, []int{1, 1, 1}},
		{"between two moments", []uint64{5, 5, 9, 9, 9, 9}, []int{0, 1, 1}},
		{"while it was sampled", []uint64{5, 5, 5, 9, 9, 9}, []int{0, 0, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pid, asked := child(t, "sleep", "100"), 0
			c := &hang.Case{Processes: []hang.Process{{PID: pid, Start: 5, Name: "first"}}}
			at := []time.Duration{0, time.Millisecond, 2 * time.Millisecond}
			capture.Run(context.Background(), c, &sampler{}, capture.Options{At: at,
				Tree: func() []int { return []int{pid} }, Gone: func(error) bool { return false },
				Started: func(int) (uint64, bool) { asked++; return tt.starts[asked-1], true }})
			var dumps []int
			for _, m := range c.Moments {
				dumps = append(dumps, len(m.Dumps))
				if _, counted := m.Counters[pid]; counted != (len(m.Dumps) > 0) {
					t.Errorf("%d dumps, counters %v", len(m.Dumps), m.Counters)
				}
			}
			reused := tt.starts[5] != 5
			renamed, said := c.Processes[0].Name != "first", len(c.Problems) > 0
			if !slices.Equal(dumps, tt.dumps) || renamed != reused || said != reused {
				t.Errorf("dumps %v, %q, %q; want %v", dumps, c.Processes[0].Name, c.Problems, tt.dumps)
			}
		})
	}
}
