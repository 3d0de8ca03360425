package sampler

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
)

func TestScheduleHasOneMomentInEachCell(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	s := newSchedule(100, rnd.Float64)
	s.origin = time.Second
	const period = 10 * time.Millisecond
	orders := map[[parts]int]bool{}
	for row := range 50 {
		var order, times [parts]int
		for i := range parts {
			begin := time.Second + time.Duration(row*parts+i)*period
			due := s.next(0, s.number+1)
			if due < begin || due >= begin+period {
				t.Fatalf("round %d of row %d is due at %v, want it from %v to %v", i, row, due, begin, begin+period)
			}
			order[i] = int(parts * (due - begin) / period)
			times[order[i]]++
		}
		for part, n := range times {
			if n != 1 {
				t.Errorf("row %d has %d samples in part %d, want once: %v", row, n, part, order)
			}
		}
		orders[order] = true
	}
	if len(orders) != 50 {
		t.Errorf("%d orders in 50 rows, want another in each", len(orders))
	}
	s = newSchedule(100, rnd.Float64)
	s.origin = time.Second
	for range 4 {
		s.next(0, s.number+1)
	}
	for _, tt := range []struct {
		name   string
		now    time.Duration
		upto   time.Duration
		number int64
	}{
		{"in its cell", 1036 * time.Millisecond, 1040 * time.Millisecond, 3},
		{"at the end of its cell", 1040 * time.Millisecond, 1050 * time.Millisecond, 4},
		{"an hour later", time.Hour + 1041*time.Millisecond, time.Hour + 1050*time.Millisecond, 360004},
	} {
		if upto := s.reached(tt.now); upto != tt.upto || s.number != tt.number {
			t.Errorf("%s: cell %d until %v, want %d, %v", tt.name, s.number, upto, tt.number, tt.upto)
		}
	}
	const tenth = time.Hour + 1140*time.Millisecond
	if due := s.next(0, s.number+10); due < tenth || due >= tenth+period {
		t.Errorf("the tenth cell behind it is due at %v", due)
	}
}

func TestScheduleDoesNotDrift(t *testing.T) {
	s := newSchedule(99, func() float64 { return 0 })
	for range 99 * 3600 {
		s.next(0, s.number+1)
	}
	if got := s.next(0, s.number+1); got < time.Hour || got >= time.Hour+s.period() {
		t.Errorf("after an hour of rounds the next is due at %v", got)
	}
	if s.start(s.cell) != time.Hour {
		t.Errorf("after an hour of rounds a cell begins at %v", s.start(s.cell))
	}
	end := s.start(s.cell + 1)
	s.setRate(49.5)
	for i := range 3 {
		due, begin := s.next(0, s.number+1), end+time.Duration(i)*s.period()
		if due < begin || due > begin+s.period()+2 {
			t.Errorf("at half the rate round %d is due at %v, want it in the period from %v", i, due, begin)
		}
	}
}

func TestBudget(t *testing.T) {
	b := newBudget(&Options{Rate: 80, MaxOverhead: 0.05}, 0, 0)
	at := spent{}
	steps := []struct {
		name     string
		cost     time.Duration // of CPU in this second
		from, to float64       // share
		over     bool
	}{
		{"the first second may cost more", 500 * time.Millisecond, 1, 1, false},
		{"enough", 40 * time.Millisecond, 1, 1, false},
		{"too much", 80 * time.Millisecond, 0.49, 0.51, true},
		{"near the limit", 45 * time.Millisecond, 0.49, 0.51, false},
		{"far too much", time.Second, 0.12, 0.13, true},
		{"somewhat less", 32 * time.Millisecond, 0.15, 0.16, false},
		{"next to nothing", time.Millisecond, 0.18, 0.19, false},
	}
	for i, s := range steps {
		at.cpu += s.cost
		closed, over := b.check(time.Duration(i+1)*time.Second, at)
		if !closed || (over != nil) != s.over || b.share < s.from || b.share > s.to {
			t.Errorf("%s: share %g, closed %v, over %v, want %g to %g", s.name, b.share, closed, over, s.from, s.to)
		}
	}
	if closed, _ := b.check(time.Duration(len(steps))*time.Second+time.Millisecond, at); closed {
		t.Error("a window of a millisecond was closed")
	}
	at.stopped, at.ran = time.Second, 10*time.Second
	if _, over := b.check(time.Minute, at); over == nil || over.stopped != 0.1 {
		t.Errorf("threads were stopped a tenth of their time: got %+v", over)
	}
}

// TestBudgetIsUsed: where most of the cost does not depend on the rate it goes up, or down, as far as the limit allows,
// and stays there.
func TestBudgetIsUsed(t *testing.T) {
	for _, share := range []float64{1, leastGentleShare} {
		b := newBudget(&Options{Rate: 512, MaxOverhead: 0.01, Gentle: true, BudgetWindow: 15 * time.Second}, 0, 0)
		b.share = share
		at := spent{}
		const windows = 1000
		tooMuch, well := 0, 0
		for i := range windows {
			// Half of the limit, and another half at 15 samples a second.
			at.cpu += time.Duration(float64(b.length) * 0.01 * (0.5 + 0.5*b.share*512/15))
			if _, over := b.check(time.Duration(i+1)*b.length, at); over != nil && i > 100 {
				tooMuch++
			}
			if rate := b.share * 512; rate > 5 && rate < 15 && i > 40 {
				well++
			}
		}
		if tooMuch > 0 || well < windows-50 {
			t.Errorf("from %g: it was too much in %d windows, and 5 to 15 a second in %d", share, tooMuch, well)
		}
	}
}

func TestSpreadIsExact(t *testing.T) {
	for _, tt := range []struct {
		total   time.Duration
		weights []int64
		want    []time.Duration
	}{
		{10, []int64{1, 1, 1}, []time.Duration{3, 3, 4}},
		{1 << 62, []int64{1 << 61, 1 << 61}, []time.Duration{1 << 61, 1 << 61}},
		{0, []int64{5}, []time.Duration{0}},
		{7, []int64{1, 6}, []time.Duration{1, 6}},
	} {
		var shares []weighted
		for i, w := range tt.weights {
			shares = append(shares, weighted{profile.NodeID(i), w})
		}
		var got []time.Duration
		spread(tt.total, shares, func(_ profile.NodeID, d time.Duration) { got = append(got, d) })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d over %v: got %v, want %v", tt.total, tt.weights, got, tt.want)
		}
	}
}

func TestQueuedSamplesCountOnlyIfNoneRan(t *testing.T) {
	for _, tt := range []struct {
		name string
		ran  bool
		want time.Duration // of the queued stack
	}{
		{"met on a CPU too", true, 0},
		{"never met on a CPU", false, 400},
	} {
		c := cpuShare{pool: 400}
		if tt.ran {
			c.ran(1, 1, 100, true)
		}
		c.ran(2, 3, 300, false)
		got := map[profile.NodeID]time.Duration{}
		c.spread(func(n profile.NodeID, d time.Duration) { got[n] += d })
		if got[2] != tt.want || got[1]+got[2] != 400 {
			t.Errorf("%s: got %v, want %d for stack 2", tt.name, got, tt.want)
		}
	}
}

func TestMedianPauseIsWithinATenth(t *testing.T) {
	for _, v := range []time.Duration{1, 7, 9, 100, 4321, 1e6, 77777777, 1 << 40} {
		var p pauses
		p.add(0)
		p.add(v)
		p.add(2 * v)
		if got := p.quantile(0.5); got < v*9/10 || got > v*11/10 {
			t.Errorf("median of 0, %d, %d: got %d", v, 2*v, got)
		}
	}
}

// TestManyStacksTakeLittleMemory enters 100,000 stacks of 30 frames that differ in the inner
// ten, in 64 threads, and takes them.
func TestManyStacksTakeLittleMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	opt := &Options{}
	c := newCounter(opt, func() time.Duration { return 0 }, nil)
	tracks := make([]*track, 64)
	g := newProgram(0, nil, fakeTable, 0, nil)
	for i := range tracks {
		tracks[i] = &track{program: g, task: int32(i), running: true, onCPU: true}
		c.count(&sample{track: tracks[i], kind: named, name: profile.Task{PID: 1, TID: i + 1}})
	}
	s := unwind.Stack{Frames: make([]unwind.Frame, 30)}
	for i := range 100000 {
		for j := range s.Frames {
			s.Frames[j].PC = mem.Addr(j * 0x100)
			if j < 10 {
				s.Frames[j].PC += mem.Addr(i >> j & 0xff * 0x10000)
			}
		}
		tr := tracks[i%64]
		tr.stack = c.book.stack(&s, g)
		c.count(&sample{track: tr, samples: 1, end: 10, cpu: 10})
	}
	e := c.extract(true)
	n := newNamer(opt)
	p, err := n.name(e, 0)
	if err != nil || p.CheckValid() != nil {
		t.Fatal(err, p.CheckValid())
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := p.Totals(); got[0] != 100000 || got[1] != 1000000 || got[2] != 1000000 {
		t.Errorf("totals %v, want 100000 samples, 1 ms, 1 ms", got)
	}
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > 100<<20 {
		t.Errorf("%d stacks in %d nodes take %d MiB, want less than 100", len(p.Samples), p.Tree.Len(), got>>20)
	} else {
		t.Logf("%d stacks, %d nodes, %d MiB live, %d MiB from the system", len(p.Samples), p.Tree.Len(), got>>20,
			(after.Sys-before.Sys)>>20)
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(e)
}

func TestBookIsBounded(t *testing.T) {
	b := newBook()
	b.limit = 1000
	g := newProgram(0, nil, fakeTable, 0, nil)
	s := unwind.Stack{Frames: make([]unwind.Frame, 2)}
	var last profile.NodeID
	for i := range 5000 {
		s.Frames[0].PC = mem.Addr(i)
		last = b.stack(&s, g)
	}
	if !b.full || b.tree.Len() > 1002 || b.words[b.sites[b.tree.Frame(last)].addr] != wordTooMany {
		t.Errorf("full %v, %d nodes, want true and 1000", b.full, b.tree.Len())
	}
}

// Frames that are not sure, and frames that are missing, are marked once, outside of where they are: the frames keep
// their own time. The samples with each are counted.
func TestBookMarks(t *testing.T) {
	b := newBook()
	g := newProgram(0, nil, fakeTable, 0, nil)
	stack := func(frames ...unwind.Frame) profile.NodeID { return b.stack(&unwind.Stack{Frames: frames}, g) }
	at := func(pc mem.Addr, unsure, gap bool) unwind.Frame {
		return unwind.Frame{PC: pc, Unsure: unsure, Gap: gap}
	}
	e := &extract{sites: b.sites}
	for _, row := range []struct {
		stack profile.NodeID
		want  string
	}{
		{stack(at(3, false, false), at(2, false, false), at(1, false, false)), "1 2 3"},
		{stack(at(3, true, false), at(2, true, false), at(1, false, false)), "1 (name not sure) 2 3"},
		{stack(at(3, true, false), at(2, false, true), at(1, true, false)),
			"(name not sure) 1 (frames missing) 2 (name not sure) 3"},
		{stack(at(3, false, false), at(2, false, false), at(1, false, true)), "(frames missing) 1 2 3"},
	} {
		var words []string
		for n := row.stack; n != 0; n = b.tree.Parent(n) {
			if s := b.sites[b.tree.Frame(n)]; s.kind == wordSite {
				words = append(words, b.words[s.addr])
			} else {
				words = append(words, fmt.Sprint(s.addr))
			}
		}
		slices.Reverse(words)
		if got := strings.Join(words, " "); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
		e.entries = append(e.entries, entry{stack: row.stack, samples: 10})
	}
	e.sites, e.tree = b.sites, b.tree
	if got := e.marked(); got != [markKinds]uint64{markUnsure: 20, markMissing: 20} {
		t.Errorf("got %v samples, want 20 unsure and 20 with frames missing", got)
	}
}

func TestNotesAreBounded(t *testing.T) {
	var n notes
	for i := range 1000 {
		n.add(fmt.Sprint(i%100), "note %d", i)
	}
	if got := n.all(); len(got) != maxNotes+1 || got[0] != "note 900" {
		t.Errorf("%d notes, first %q, want %d and the latest words", len(got), got[0], maxNotes+1)
	}
}

func TestRunsAreJoinedAndBounded(t *testing.T) {
	l := newLedger(true)
	for i := range 10 {
		l.keep(1, 0, time.Duration(i), time.Duration(i+1))
		l.keep(2, 1, time.Duration(i), time.Duration(i+1))
	}
	l.keep(1, 0, 20, 21)
	want := []run{{1, 0, 0, 10}, {2, 1, 0, 10}, {1, 0, 20, 21}}
	if !slices.Equal(l.runs, want) {
		t.Errorf("got %v, want %v", l.runs, want)
	}
	for i := range maxRuns {
		l.keep(profile.NodeID(i), 0, time.Duration(2*i+30), time.Duration(2*i+31))
	}
	if !l.dropped || l.runs != nil {
		t.Errorf("%d runs are kept", len(l.runs))
	}
}
