package sampler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tracer"
)

var built string // the program of testdata, "" where there is no compiler

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sampler")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "target")
	out, err := exec.Command("cc", "-O1", "-pthread", "-o", program, "testdata/target.c").CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "build target: %v\n%s", err, out)
	} else {
		built = program
	}
	return m.Run()
}

// start starts the target and waits until it is where it should be. It is reaped at the end
// of the test: a wait for a child takes the stops of the tracer from it, see docs/dev/sampling.md.
func start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if built == "" {
		t.Skip("the target is not built: cc is needed")
	}
	cmd := exec.Command(built, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	b := make([]byte, 1)
	if n, err := out.Read(b); n != 1 || b[0] != 'r' {
		t.Fatalf("target is not ready: %q, %v", b[:n], err)
	}
	return cmd
}

// settle waits until the threads of a process but its first sleep, and none of them came to a CPU between two
// readings of all their counters.
func settle(t *testing.T, pid int) {
	t.Helper()
	counters := func() (text string, asleep bool) {
		var all strings.Builder
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
		asleep = true
		for _, task := range tasks {
			if filepath.Base(task) == strconv.Itoa(pid) {
				continue
			}
			counted, _ := os.ReadFile(task + "/schedstat")
			all.Write(counted)
			stat, _ := os.ReadFile(task + "/stat")
			asleep = asleep && strings.Contains(string(stat), ") S ")
		}
		return all.String(), asleep
	}
	last, _ := counters()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
		now, asleep := counters()
		if asleep && now == last {
			return
		}
		last = now
	}
	t.Fatalf("the threads of process %d do not come to rest", pid)
}

// record records a process for a while.
func record(t *testing.T, pid int, opt Options, d time.Duration) (*profile.Profile, Stats) {
	t.Helper()
	r := New(opt)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Add(pid); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	p, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	return p, r.Stats()
}

// total sums one value over the stacks that hold the function named.
func total(p *profile.Profile, typ, function string) int64 {
	k := p.TypeIndex(typ)
	sum := int64(0)
	var buf []profile.FrameID
	for i, s := range p.Samples {
		buf = p.Tree.Append(buf[:0], s.Stack)
		for _, f := range buf {
			if p.Frames[f].Func == function {
				sum += p.Value(i)[k]
				break
			}
		}
	}
	return sum
}

// folded shows p for a failing test.
func folded(p *profile.Profile) string {
	var b strings.Builder
	for i, s := range p.Samples {
		var names []string
		for _, f := range p.Tree.Append(nil, s.Stack) {
			names = append(names, p.Frames[f].Func)
		}
		fmt.Fprintf(&b, "%v %+v %v\n", names, p.Tasks[s.Task], p.Value(i))
	}
	return b.String()
}

// checkShares compares shares, in points, of functions among themselves.
// The tolerance is at least four standard errors, as many samples as there were.
func checkShares(t *testing.T, p *profile.Profile, typ string, tolerance float64, want map[string]float64) {
	t.Helper()
	sum, n := 0.0, 0.0
	for f := range want {
		sum += float64(total(p, typ, f))
		n += float64(total(p, "samples", f))
	}
	tolerance = max(tolerance, 400*math.Sqrt(0.25/n))
	for f, share := range want {
		if got := 100 * float64(total(p, typ, f)) / sum; got < share-tolerance || got > share+tolerance {
			t.Errorf("%s share of %s: got %.1f%%, want %.1f%% ± %g\n%s", typ, f, got, share, tolerance, folded(p))
		}
	}
}

func TestDuty(t *testing.T) {
	c := start(t, "duty", "7", "3")
	p, s := record(t, c.Process.Pid, Options{Rate: 499}, 5*time.Second)
	for _, typ := range []string{"wall", "cpu"} {
		checkShares(t, p, typ, 5, map[string]float64{"work_a": 70, "work_b": 30})
	}
	if got, want := p.Totals()[1], int64(s.Elapsed); got < want*98/100 || got > want*102/100 {
		t.Errorf("wall: got %v in all, want %v", time.Duration(got), s.Elapsed)
	}
	t.Logf("%+v", s)
}

// TestBursts records what computes for 3 ms and sleeps for 7. Where others have the CPUs, a burst often begins as the
// sampler goes to sleep (docs/dev/sampling.md, Risks): then the machine decides which part of a burst rounds meet, and
// only the sum of CPU time is held, and that each part is met.
func TestBursts(t *testing.T) {
	c, want := start(t, "burst"), map[string]float64{"burst_a": 50, "burst_b": 30, "burst_c": 20}
	for try := range 3 {
		before := ranAndWaited(t, c.Process.Pid)
		p, s := record(t, c.Process.Pid, Options{Rate: 499}, 5*time.Second)
		after := ranAndWaited(t, c.Process.Pid)
		t.Logf("%+v", s)
		ran, waited := after[0]-before[0], after[1]-before[1]
		if s.LateTicks <= s.Ticks/10 && waited <= ran/20 {
			checkShares(t, p, "wall", 5, want)
			checkShares(t, p, "cpu", 5, want)
			return
		}
		t.Logf("the machine is busy: %d rounds of %d were late, the program ran for %v and waited for %v", s.LateTicks,
			s.Ticks+s.LateTicks, ran, waited)
		if try < 2 {
			continue
		}
		if got := time.Duration(total(p, "cpu", "main")); got < ran*9/10 || got > ran*11/10 {
			t.Errorf("%v of CPU time, the kernel says %v", got, ran)
		}
		for f := range want {
			if got := total(p, "cpu", f); got < int64(ran)/20 {
				t.Errorf("%s has %v of %v", f, time.Duration(got), ran)
			}
		}
	}
}

// ranAndWaited is how long a thread ran, and was ready to run and had no CPU.
func ranAndWaited(t *testing.T, tid int) (d [2]time.Duration) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", tid))
	if err == nil {
		_, err = fmt.Sscan(string(b), &d[0], &d[1])
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParkedThreadsAreLeftAlone(t *testing.T) {
	c := start(t, "parked", "1000")
	settle(t, c.Process.Pid) // it says that it is ready when they begin to park
	p, s := record(t, c.Process.Pid, Options{Rate: 99}, 4*time.Second)
	t.Logf("%+v", s)
	if s.Threads != 1001 {
		t.Errorf("got %d threads, want 1001", s.Threads)
	}
	// Their stacks need no registers here: none is stopped but the busy one.
	if s.Stops > s.Ticks || s.Peeks < 1000 || s.Peeks > 1000+s.Ticks {
		t.Errorf("got %d stops and %d copies in %d rounds, want one stop a round and one copy a thread", s.Stops,
			s.Peeks, s.Ticks)
	}
	want := 1000 * int64(s.Elapsed)
	if got := total(p, "wall", "parked"); got < want*97/100 || got > want*103/100 {
		t.Errorf("wall in parked: got %v, want %v", time.Duration(got), time.Duration(want))
	}
}

func TestThreadsComeAndGo(t *testing.T) {
	c := start(t, "churn")
	target, err := tracer.Open(c.Process.Pid, tracer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	before, _ := target.CPUTime()
	p, s := record(t, c.Process.Pid, Options{Rate: 199}, 3*time.Second)
	after, _ := target.CPUTime()
	t.Logf("%+v", s)
	// A thread's last stretch is not seen, nor one that no sample fell into.
	got, all := time.Duration(total(p, "cpu", "spinning")), after-before
	if got < all*3/10 || got > all*103/100 {
		t.Errorf("cpu in spinning: got %v, want most of %v\n%s", got, all, folded(p))
	}
	if len(p.Tasks) < 4 {
		t.Errorf("got %d tasks, want one for each of the threads", len(p.Tasks))
	}
}

func TestChildrenAreFollowed(t *testing.T) {
	c := start(t, "forks", "4")
	p, s := record(t, c.Process.Pid, Options{Rate: 199, Children: true}, time.Minute)
	t.Logf("%+v", s)
	// Eight children of 150 ms each.
	if got := time.Duration(total(p, "cpu", "work_b")); got < 900*time.Millisecond || got > 1300*time.Millisecond {
		t.Errorf("cpu in work_b: got %v, want 1.2 s\n%s", got, folded(p))
	}
	pids := map[int]bool{}
	for _, task := range p.Tasks {
		pids[task.PID] = true
	}
	if len(pids) != 9 || s.Ended != 9 {
		t.Errorf("got %d processes, %d ended, want 9", len(pids), s.Ended)
	}
	if s.Cut > s.Samples/20 {
		t.Errorf("%d of %d stacks are cut", s.Cut, s.Samples)
	}
}

func TestExecInTheMiddle(t *testing.T) {
	other := filepath.Join(filepath.Dir(built), "another")
	if built != "" {
		if err := os.Link(built, other); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	c := start(t, "exec", other, "child")
	p, s := record(t, c.Process.Pid, Options{Rate: 199}, time.Minute)
	t.Logf("%+v", s)
	a, b := time.Duration(total(p, "cpu", "work_a")), time.Duration(total(p, "cpu", "work_b"))
	if a < 200*time.Millisecond || a > 350*time.Millisecond || b < 100*time.Millisecond || b > 200*time.Millisecond {
		t.Errorf("cpu in work_a %v, in work_b %v, want 300 and 150 ms\n%s", a, b, folded(p))
	}
	names := map[string]bool{}
	for _, task := range p.Tasks {
		names[task.Process] = true
	}
	if !names["target"] || !names["another"] {
		t.Errorf("got processes %v, want target and another", names)
	}
}

func TestTargetThatEndsAtOnce(t *testing.T) {
	c := start(t, "quick")
	r := New(Options{Rate: 99})
	defer r.Close()
	if err := r.Add(c.Process.Pid); err == nil {
		if err := r.Run(context.Background()); err != nil {
			t.Errorf("Run: got %v, want none", err)
		}
	}
	p, err := r.Take()
	if err != nil || p.CheckValid() != nil {
		t.Errorf("Take: got %v", err)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(c.Process.Pid)); err == nil {
		t.Log("the process is there still")
	}
}

// TestIntervalsOfDuty: profiles that end at given moments have each thread for their whole length, and the CPU time of
// all of them is what the kernel counted.
func TestIntervalsOfDuty(t *testing.T) {
	c := start(t, "duty", "7", "3")
	r := New(Options{Rate: 99, Stay: true, Gentle: true})
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if err := r.Add(c.Process.Pid); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	cpuBegan := ticks(t, c.Process.Pid)
	var cpu, lasted time.Duration
	met := map[int]bool{}
	for i := range 5 {
		p, err := r.TakeAt(ctx, begin.Add(time.Duration(i+1)*600*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		walls := map[int]time.Duration{}
		for k, s := range p.Samples {
			walls[p.Tasks[s.Task].TID] += time.Duration(p.Value(k)[1])
			cpu += time.Duration(p.Value(k)[2])
		}
		for tid, wall := range walls { // the first sample of a thread may come late, and covers the time until then
			if met[tid] && wall != p.Duration {
				t.Errorf("interval %d of %v: thread %d has %v", i, p.Duration, tid, wall)
			}
			met[tid] = true
		}
		lasted += p.Duration
	}
	if used := ticks(t, c.Process.Pid) - cpuBegan; cpu < used*8/10 || cpu > used+100*time.Millisecond {
		t.Errorf("cpu %v in all intervals, the kernel counted %v", cpu, used)
	}
	if all := time.Since(begin); lasted > all+time.Second || lasted < 2900*time.Millisecond {
		t.Errorf("intervals last %v in all, 3 s were wanted and %v passed", lasted, all)
	}
	r.Remove(c.Process.Pid)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// ticks is the CPU time of a process as the kernel counts it, exact to 10 ms.
func ticks(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	st, err := procfs.ParseStat(b)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(st.CPU) * time.Second / procfs.TicksPerSecond
}
