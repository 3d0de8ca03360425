package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fpstack/fpstack/agent/choose"
	"github.com/fpstack/fpstack/profile"
)

// closable is the recorder of a machine; what uses it after it was closed is noted.
type closable struct {
	*machine
	slow map[string]time.Duration // how long a method takes beyond the end of ctx

	guard  sync.Mutex
	closed bool
	late   []string
}

func (c *closable) used(what string) {
	c.guard.Lock()
	defer c.guard.Unlock()
	if c.closed {
		c.late = append(c.late, what)
	}
}

func (c *closable) Run(ctx context.Context) error {
	err := c.machine.Run(ctx)
	time.Sleep(c.slow["Run"])
	c.used("Run")
	return err
}

func (c *closable) TakeAt(ctx context.Context, at time.Time) (*profile.Profile, error) {
	p, err := c.machine.TakeAt(ctx, at)
	time.Sleep(c.slow["TakeAt"])
	c.used("TakeAt")
	return p, err
}

func (c *closable) Add(pid int) error {
	c.used("Add")
	time.Sleep(c.slow["Add"])
	c.used("Add")
	return c.machine.Add(pid)
}

func (c *closable) Remove(pid int) { c.used("Remove"); c.machine.Remove(pid) }
func (c *closable) Counts() Counts { c.used("Counts"); return c.machine.Counts() }

// Scan takes as long each time, whatever ends meanwhile.
func (c *closable) Scan(now time.Duration) ([]choose.Chosen, error) {
	time.Sleep(c.slow["Scan"])
	return c.machine.Scan(now)
}

// TestRecorderAfterRun: when Run has returned nothing uses the recorder, which is closed then; where something would,
// Run says so.
func TestRecorderAfterRun(t *testing.T) {
	lost := errors.New("the store is away for good")
	for _, tt := range []struct {
		name  string
		slow  string
		takes time.Duration
		store error
		want  []error
	}{
		{"all ends at once", "", 0, nil, nil},
		{"a scan goes on", "Scan", 9 * time.Second, nil, nil}, // the third ends at 27 s, the agent at 25
		{"a process is being added", "Add", 9 * time.Second, nil, nil},
		{"the last profile is being made", "TakeAt", 4 * time.Second, nil, nil},
		{"rounds go on", "Run", 4 * time.Second, nil, nil},
		{"a scan does not end", "Scan", 40 * time.Second, nil, []error{ErrStuck}},
		{"the last profile is not made", "TakeAt", 40 * time.Second, nil, []error{ErrStuck}},
		{"rounds do not end", "Run", 40 * time.Second, nil, []error{ErrStuck}},
		{"nor where a store has ended it", "Run", 40 * time.Second, lost, []error{ErrStuck, lost}},
		{"a store has ended it", "Run", 4 * time.Second, lost, []error{lost}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &closable{machine: newMachine(), slow: map[string]time.Duration{tt.slow: tt.takes}}
			c.store = tt.store
			for pid := range 3 {
				c.chosen[pid+1] = 1
			}
			var err error
			synctest.Test(t, func(t *testing.T) {
				o := c.options()
				o.Recorder, o.Follower, o.Choice.Chooser = c, c, c
				ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
				defer cancel()
				err = New(o).Run(ctx)
				c.guard.Lock()
				c.closed = !errors.Is(err, ErrStuck)
				c.guard.Unlock()
				time.Sleep(time.Minute)
			})
			if (err == nil) != (tt.want == nil) ||
				slices.ContainsFunc(tt.want, func(e error) bool { return !errors.Is(err, e) }) {
				t.Errorf("Run: %v, want %v", err, tt.want)
			}
			if len(c.late) > 0 {
				t.Errorf("used when Run had returned: %q", c.late)
			}
			if !c.flushed {
				t.Error("stores were not offered what is left")
			}
		})
	}
}
