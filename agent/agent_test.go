package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fpstack/fpstack/agent/choose"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/perprocess"
)

// machine is drawn processes, who samples them, and a store.
type machine struct {
	mu       sync.Mutex
	chosen   map[int]uint64 // pid -> start
	threads  map[int]int
	refuse   map[int]error
	followed map[int]bool
	adds     map[int]int
	rounds   uint64
	stuck    bool // no round is made
	noTake   bool // TakeAt never returns
	taken    []time.Duration
	put      [][2]time.Time
	who      []string
	flushed  bool
	store    error // Run of the store ends with it at once
	said     []string
	rule     choose.Rule
	runs     map[int]choose.Program
}

func newMachine() *machine {
	return &machine{chosen: map[int]uint64{}, threads: map[int]int{}, refuse: map[int]error{}, followed: map[int]bool{},
		adds: map[int]int{}, rule: choose.Rule{Service: "s"}}
}

func (m *machine) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
		m.mu.Lock()
		if !m.stuck {
			m.rounds++
		}
		m.mu.Unlock()
	}
	return nil
}

func (m *machine) TakeAt(ctx context.Context, at time.Time) (*profile.Profile, error) {
	begin := time.Now()
	if m.noTake {
		select {}
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(at)):
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.taken = append(m.taken, time.Since(begin))
	p := profile.NewBuilder(profile.WallTime).Profile()
	p.Start, p.Duration = begin, time.Since(begin)
	for pid := range m.followed {
		p.Tasks = append(p.Tasks, profile.Task{PID: pid, Began: m.chosen[pid]})
	}
	return p, nil
}

func (m *machine) Add(pid int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.adds[pid]++
	if err := m.refuse[pid]; err != nil {
		return err
	}
	m.followed[pid] = true
	return nil
}

func (m *machine) Remove(pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.followed, pid)
}

func (m *machine) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := Counts{Rounds: m.rounds, Wanted: 19, Notes: []string{"a note"}}
	for pid := range m.followed {
		c.Targets = append(c.Targets, Target{pid, m.threads[pid], 19})
	}
	return c
}

func (m *machine) look(pid int) (uint64, choose.Program, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.chosen[pid], m.runs[pid], m.chosen[pid] != 0
}

func (m *machine) Scan(time.Duration) (all []choose.Chosen, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for pid, start := range m.chosen {
		all = append(all, choose.Chosen{Identity: procfs.Identity{PID: pid, Start: start}, Program: m.runs[pid],
			Rule: &m.rule})
	}
	slices.SortFunc(all, func(a, b choose.Chosen) int { return a.PID - b.PID })
	return all, nil
}

func (m *machine) another(c *choose.Chosen) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	start, lives := m.chosen[c.PID]
	return lives && start != c.Start
}

func (m *machine) Put(_ []push.Recorded, from, to time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put = append(m.put, [2]time.Time{from, to})
}

// outlet is the store's side of a machine.
type outlet struct{ *machine }

func (o outlet) Run(ctx context.Context) error {
	if o.store != nil {
		return o.store
	}
	<-ctx.Done()
	return nil
}

func (o outlet) Flush(context.Context) bool { o.flushed = true; return true }

func (o outlet) Balance() push.Balance {
	return push.Balance{Taken: 7, Sent: 3, Waiting: 2, Dropped: map[push.Reason]int{push.Full: 2}}
}
func (o outlet) Trouble() error { return errors.New("away\n\x1b[31m") }

func (m *machine) options() Options {
	return Options{Recorder: m, Follower: m, Choice: Choice{m, 100, 1000},
		Stores:   []Store{{`file:///a"b`, outlet{m}, outlet{m}}},
		Interval: 15 * time.Second, StuckAfter: 10 * time.Minute, Budget: 0.01,
		Identify: func(c *choose.Chosen) perprocess.Identity {
			return perprocess.Identity{Service: fmt.Sprint(c.Rule.Service, c.PID)}
		},
		Another: m.another,
		Look:    m.look,
		Threads: func(pid int) int { return m.threads[pid] },
		Refusal: func(err error) string { return err.Error() },
		Parts: func(p *profile.Profile, identity perprocess.Identifier) ([]push.Recorded, error) {
			for _, t := range p.Tasks {
				m.who = append(m.who, identity(procfs.Identity{PID: t.PID, Start: t.Began}).Service)
			}
			return nil, nil
		},
		Say:   func(line string) { m.said = append(m.said, line) },
		Usage: func() (time.Duration, int64) { return time.Second, 10 << 20 }}
}

// run runs an Agent over m in drawn time for so long; script does what it wants meanwhile.
func run(t *testing.T, m *machine, d time.Duration, change func(o *Options), script func(a *Agent)) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := m.options()
		if change != nil {
			change(&o)
		}
		a := New(o)
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		if script != nil {
			go script(a)
		}
		err = a.Run(ctx)
	})
	return err
}

func (m *machine) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *machine) pids() (all []int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for pid := range m.followed {
		all = append(all, pid)
	}
	slices.Sort(all)
	return all
}

// TestIntervals: they end at multiples of their length by the wall clock, one behind the other, the last with the end.
func TestIntervals(t *testing.T) {
	m := newMachine()
	m.chosen[5] = 1
	if err := run(t, m, 100*time.Second, nil, func(*Agent) {
		time.Sleep(50 * time.Second)
		m.set(func() { delete(m.chosen, 5); delete(m.followed, 5) })
	}); err != nil {
		t.Fatal(err)
	}
	if len(m.put) < 6 || !m.flushed {
		t.Fatalf("%d intervals, flushed %v", len(m.put), m.flushed)
	}
	for i, p := range m.put {
		last := i == len(m.put)-1
		if i > 0 && !p[0].Equal(m.put[i-1][1]) {
			t.Errorf("interval %d begins at %v, the one before ended at %v", i, p[0], m.put[i-1][1])
		}
		if !last && !p[1].Truncate(15*time.Second).Equal(p[1]) {
			t.Errorf("interval %d ends at %v", i, p[1])
		}
	}
	if !slices.Contains(m.who, "s5") || slices.Contains(m.who, "") {
		t.Errorf("processes are %q", m.who)
	}
}

// TestBoundaries: whatever the wall clock does, an interval is neither very short nor long.
func TestBoundaries(t *testing.T) {
	const every = 15 * time.Second
	base := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, at := range []time.Duration{0, time.Millisecond, 7499 * time.Millisecond, 7501 * time.Millisecond,
		14999 * time.Millisecond, 15 * time.Second, -time.Nanosecond, 1e9 * time.Second, -1e9 * time.Second} {
		now := base.Add(at)
		end := boundary(now, now, every)
		if d := end.Sub(now); d < every/2 || d > every+every/2 || !end.Truncate(every).Equal(end) {
			t.Errorf("at %v the next boundary is %v, after %v", now, end, d)
		}
	}
	now := time.Now()
	if end := boundary(now, now, every); end.String() == end.Round(0).String() {
		t.Errorf("%v has no reading of the monotonic clock", end)
	}
	for late := range 40 { // the interval before was delivered so many seconds after its end
		last := base.Add(time.Second)
		now := last.Add(time.Duration(late) * time.Second)
		end := boundary(last, now, every)
		if d := end.Sub(last); !end.After(now) || d < every/2 || d > every+every/2 && end.Sub(now) > every {
			t.Errorf("delivered %d s after its end: the next boundary is %v, after %v", late, end, d)
		}
	}
}

// TestTargets: processes are followed as they come and go, within bounds, and refusals are counted and tried again.
func TestTargets(t *testing.T) {
	m := newMachine()
	for pid := 1; pid <= 5; pid++ {
		m.chosen[pid], m.threads[pid] = 1, 10
	}
	m.refuse[2] = errors.New("not permitted")
	expect := func(a *Agent, what string, pids []int, out string) {
		t.Helper()
		time.Sleep(1500 * time.Millisecond)
		r := a.Report()
		if got := m.pids(); !slices.Equal(got, pids) || fmt.Sprint(r.LeftOut) != out {
			t.Errorf("%s: %v, left out %v; want %v, %s", what, got, r.LeftOut, pids, out)
		}
	}
	err := run(t, m, 10*time.Minute, func(o *Options) { o.Choice = Choice{m, 3, 45} }, func(a *Agent) {
		expect(a, "at first", []int{1, 3, 4}, "map[more than --max-targets:1 not permitted:1]")
		m.set(func() { delete(m.chosen, 3) })
		expect(a, "one is chosen no longer", []int{1, 4, 5}, "map[not permitted:1]")
		m.set(func() { m.chosen[4] = 2 })
		expect(a, "an id is given again", []int{1, 4, 5}, "map[not permitted:1]")
		time.Sleep(2 * 15 * time.Second)
		m.set(func() { m.threads[1] = 30 })
		expect(a, "one has more threads: the last has to go", []int{1, 5},
			"map[more than --max-threads:1 not permitted:1]")
		m.set(func() { m.threads[1] = 10; m.refuse = nil; delete(m.chosen, 5) })
		time.Sleep(2 * time.Minute)
		expect(a, "tried again", []int{1, 2, 4}, "map[]")
		m.set(func() { delete(m.followed, 1) })
		expect(a, "one was let go: it is tried again", []int{1, 2, 4}, "map[]")
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.adds[2] > 4 {
		t.Errorf("one that is refused was tried %d times in two minutes", m.adds[2])
	}
	permitted := 0
	for _, line := range m.said {
		if strings.Contains(line, "not permitted") {
			permitted++
		}
	}
	if permitted != 1 {
		t.Errorf("a reason was said %d times: %q", permitted, m.said)
	}
}

// TestStuck: what does not go on ends the agent with an error.
func TestStuck(t *testing.T) {
	lost := errors.New("the store is away for good")
	for _, tt := range []struct {
		name   string
		change func(m *machine)
		want   error
	}{
		{"all goes on", func(*machine) {}, nil},
		{"no rounds", func(m *machine) { m.stuck = true }, ErrStuck},
		{"no rounds of nobody", func(m *machine) { m.stuck = true; m.chosen = nil }, nil},
		{"a store", func(m *machine) { m.store = lost }, lost},
	} {
		m := newMachine()
		m.chosen[1] = 1
		tt.change(m)
		if err := run(t, m, time.Hour, nil, nil); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestNoInterval: an interval that never ends is noticed too.
func TestNoInterval(t *testing.T) {
	m := newMachine()
	m.noTake = true
	o := m.options()
	o.Interval, o.StuckAfter = 10*time.Millisecond, 50*time.Millisecond
	a := New(o)
	end := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	go a.watch(ctx, func(err error) { end <- err; cancel(err) })
	if err := <-end; !errors.Is(err, ErrStuck) || !strings.Contains(err.Error(), "interval") {
		t.Error(err)
	}
}
