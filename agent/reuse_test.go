package agent

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/agent/choose"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/perprocess"
)

// reuser is a machine whose process 4 ends and begins again. Each that is followed has a sample at once, in a task that
// says which it is.
type reuser struct {
	*machine
	sampled map[string]bool // in this interval
}

func (r *reuser) name(pid int) string { return fmt.Sprintf("%d from %d", pid, r.chosen[pid]) }

func (r *reuser) Add(pid int) error {
	err := r.machine.Add(pid)
	r.set(func() { r.sampled[r.name(pid)] = true })
	return err
}

func (r *reuser) TakeAt(ctx context.Context, at time.Time) (*profile.Profile, error) {
	p, err := r.machine.TakeAt(ctx, at)
	r.set(func() {
		p.Tasks = nil
		for name := range r.sampled {
			t := profile.Task{Process: name}
			fmt.Sscanf(name, "%d from %d", &t.PID, &t.Began)
			p.Tasks = append(p.Tasks, t)
		}
		clear(r.sampled)
		for pid := range r.followed {
			r.sampled[r.name(pid)] = true
		}
	})
	return p, err
}

// restart makes process 4 another one; who follows it is followed no longer.
func (r *reuser) restart() {
	r.set(func() { r.chosen[4]++; delete(r.followed, 4) })
}

// TestIDGivenAgain: what a process did is credited to it, also where another with the same id is followed soon after.
func TestIDGivenAgain(t *testing.T) {
	r := &reuser{newMachine(), map[string]bool{}}
	r.chosen[4], r.chosen[5] = 1, 1
	met := map[string]bool{}
	err := run(t, r.machine, 10*time.Minute, func(o *Options) {
		o.Recorder, o.Follower = r, r
		o.Identify = func(c *choose.Chosen) perprocess.Identity {
			return perprocess.Identity{Service: fmt.Sprintf("%d from %d", c.PID, c.Start)}
		}
		o.Parts = func(p *profile.Profile, identity perprocess.Identifier) ([]push.Recorded, error) {
			for i, task := range p.Tasks {
				met[task.Process] = true
				if who := identity(procfs.Identity{PID: task.PID, Start: task.Began}).Service; who != task.Process {
					t.Errorf("%q is credited to %q", task.Process, who)
				}
				same := func(o profile.Task) bool { return o.PID == task.PID && o.Began == task.Began }
				if slices.ContainsFunc(p.Tasks[:i], same) {
					t.Errorf("%q is in one profile with another of its id", task.Process)
				}
			}
			return nil, nil
		}
	}, func(*Agent) {
		for range 10 {
			r.restart()
			time.Sleep(700 * time.Millisecond)
		}
		for range 5 {
			time.Sleep(47 * time.Second)
			r.restart()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"4 from 11", "4 from 12", "4 from 13", "4 from 14", "4 from 15", "4 from 16"} {
		if !met[name] {
			t.Errorf("%q lives for longer than two intervals, and is in no profile", name)
		}
	}
}

// TestAnotherWhileAdded: one that gets the id while it is being added is not taken for the one that was chosen.
func TestAnotherWhileAdded(t *testing.T) {
	m := newMachine()
	m.chosen[4] = 1
	first := true
	err := run(t, m, time.Minute, func(o *Options) {
		o.Follower = m
		o.Another = func(c *choose.Chosen) bool {
			defer func() { first = false }()
			return first
		}
	}, func(*Agent) {
		time.Sleep(500 * time.Millisecond)
		if got := m.pids(); len(got) > 0 {
			t.Errorf("%v is followed, which is another process", got)
		}
	})
	if err != nil || m.adds[4] != 2 {
		t.Errorf("%v; added %d times, want again a second later", err, m.adds[4])
	}
}

// TestBeginsAnotherProgram: a process has the name of the program that it runs, from the interval on in which it began
// that, also where it did so just before the end.
func TestBeginsAnotherProgram(t *testing.T) {
	m := newMachine()
	m.chosen[4], m.runs = 1, map[int]choose.Program{4: {Exe: "/bin/dash"}}
	var names []string
	err := run(t, m, 10*time.Minute, func(o *Options) {
		o.Identify = func(c *choose.Chosen) perprocess.Identity { return perprocess.Identity{Service: c.Exe} }
		o.Parts = func(p *profile.Profile, identity perprocess.Identifier) ([]push.Recorded, error) {
			for _, task := range p.Tasks {
				names = append(names, identity(procfs.Identity{PID: task.PID, Start: task.Began}).Service)
			}
			return nil, nil
		}
	}, func(*Agent) {
		for _, exe := range []string{"/bin/server", "/bin/other"} {
			time.Sleep(time.Until(time.Now().Truncate(15 * time.Second).Add(15*time.Second - time.Millisecond)))
			m.set(func() { m.runs[4] = choose.Program{Exe: exe} })
			time.Sleep(5 * time.Second)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"/bin/server", "/bin/other"} {
		if i >= len(names) || names[i] != want {
			t.Errorf("the intervals are of %q", names)
		}
	}
}
