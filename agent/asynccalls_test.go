package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/agent/choose"
)

// drawnCounter counts async calls of drawn processes: as many as the id says.
type drawnCounter struct {
	takes time.Duration
	asked map[int][]time.Time
	none  int // has no such runtime
	fails int
}

func (c *drawnCounter) CountAsync(ctx context.Context, pid int) (n AsyncCalls, has bool, err error) {
	c.asked[pid] = append(c.asked[pid], time.Now())
	whole := true
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
		whole = false
	}
	switch pid {
	case c.none:
		return n, false, nil
	case c.fails:
		return n, false, errors.New("not permitted")
	}
	return AsyncCalls{pid, 1, whole}, true, nil
}

// TestAsyncCalls: those of each target are counted, once an interval where the budget has room and in turn where it has
// not; what has none, or cannot be read, is left alone for a while; the number of a program that is no more is gone.
func TestAsyncCalls(t *testing.T) {
	const length = 10 * time.Minute
	for _, tt := range []struct {
		takes       time.Duration
		budget      float64
		least, most int  // how often the first was counted
		whole       bool // each count
	}{
		{time.Millisecond, 0.01, 36, 43, true}, // each 15 s, and another process at the end
		{time.Second, 0, 36, 43, true},
		{100 * time.Millisecond, 0.01, 4, 12, true}, // one each 40 s
		{time.Minute, 0.1, 1, 2, false},             // given up after 5 s, one each 200 s
	} {
		m, c := newMachine(), &drawnCounter{takes: tt.takes, asked: map[int][]time.Time{}, none: 8, fails: 9}
		for _, pid := range []int{5, c.none, c.fails} {
			m.chosen[pid], m.threads[pid] = 1, 1
		}
		about := fmt.Sprintf("a count that takes %v, budget %v", tt.takes, tt.budget)
		err := run(t, m, length, func(o *Options) { o.AsyncCounter, o.Budget = c, tt.budget }, func(a *Agent) {
			time.Sleep(length - time.Second)
			r := a.Report()
			if want := (AsyncCalls{5, 1, tt.whole}); len(r.Async) != 1 || r.Async[0].AsyncCalls != want ||
				r.Async[0].Service != "s5" {
				t.Errorf("%s: %+v", about, r.Async)
			}
			m.set(func() { m.chosen[5] = 2 })
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.asked[5]); n < tt.least || n > tt.most {
			t.Errorf("%s: counted %d times, want %d to %d", about, n, tt.least, tt.most)
		}
		if n := len(c.asked[8]); n > 2 { // it is looked at again after ten minutes
			t.Errorf("%s: one that has none was asked %d times", about, n)
		}
		if n := len(c.asked[9]); n > 11 { // each minute, from the begin to the end
			t.Errorf("%s: one that is refused was asked %d times", about, n)
		}
		if n := strings.Count(strings.Join(m.said, "\n"), "async calls of process 9 are not counted"); n != 1 {
			t.Errorf("%s: said %q", about, m.said)
		}
	}
}

// TestAsyncOfAnother: a number that was counted while the process became another one, or began another program, is
// nobody's.
func TestAsyncOfAnother(t *testing.T) {
	for what, change := range map[string]func(m *machine, a *Agent){
		"another process": func(m *machine, _ *Agent) { m.chosen[5] = 2 },
		"another program": func(m *machine, a *Agent) {
			now := a.targets[5].Chosen
			now.Program = choose.Program{Exe: "other"}
			a.renew(a.targets[5], &now)
		},
	} {
		m := newMachine()
		m.chosen[5] = 1
		o := m.options()
		a := New(o)
		first, err := m.Scan(0)
		if err != nil {
			t.Fatal(err)
		}
		a.targets[5] = &target{Chosen: first[0], who: o.Identify(&first[0])}
		a.opt.AsyncCounter = countingWhile(func() { change(m, a) })
		a.countAsyncOf(t.Context(), a.targets[5], time.Now())
		if r := a.Report(); len(r.Async) != 0 {
			t.Errorf("%s: %+v", what, r.Async)
		}
	}
}

// countingWhile counts, and something happens meanwhile.
type countingWhile func()

func (f countingWhile) CountAsync(context.Context, int) (AsyncCalls, bool, error) {
	f()
	return AsyncCalls{3, 0, true}, true, nil
}

// TestAsyncMetrics: the page has the numbers of each process, and none where nothing was counted.
func TestAsyncMetrics(t *testing.T) {
	r := newReport(t)
	if page := r.page(t); strings.Contains(page, "async") {
		t.Errorf("nothing was counted: %s", page)
	}
	r.Async = []AsyncReport{{AsyncCalls{12, 3, true}, 5, `a"b`, time.UnixMilli(7500)},
		{AsyncCalls{1, 0, false}, 6, "b", time.UnixMilli(8000)}}
	got := parseMetrics(t, r.page(t))
	for name, want := range map[string]float64{`async_calls{pid="5",service="a\"b"}`: 12,
		`async_calls_abandoned{pid="5",service="a\"b"}`: 3, `async_calls_whole{pid="6",service="b"}`: 0,
		`async_calls_whole{pid="5",service="a\"b"}`: 1, `async_calls_counted_seconds{pid="5",service="a\"b"}`: 7.5} {
		if v, ok := got["fpstack_agent_"+name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
}

// drawnReport is a Report with a page.
type drawnReport struct{ Report }

func newReport(t *testing.T) *drawnReport {
	t.Helper()
	return &drawnReport{New(newMachine().options()).Report()}
}

func (r *drawnReport) page(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteMetrics(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
