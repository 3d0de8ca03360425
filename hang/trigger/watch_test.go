package trigger

import (
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/procfs"
)

// scene is a Source of processes that each use so much of a CPU, from one time to another.
type scene struct {
	now, began time.Time
	procs      []proc
	network    float64 // bytes a second
	io         float64
	writes     time.Duration // there is output each so often, 0: none
	blind      bool
	late       time.Duration // that output shows
	reads      int           // how often evidence was read
}

type proc struct {
	pid      int
	cpu      float64
	from, to time.Duration // to 0: for ever
	command  string
}

func (s *scene) ran() time.Duration { return s.now.Sub(s.began) }

func (s *scene) Usage() Usage {
	u := Usage{Of: map[procfs.Identity]Used{}, Commands: map[procfs.Identity]string{}}
	for _, p := range s.procs {
		if s.ran() < p.from || p.to > 0 && s.ran() > p.to {
			continue
		}
		u.Of[procfs.Identity{PID: p.pid}] = Used{CPU: time.Duration(p.cpu * float64(s.ran()-p.from))}
		u.Commands[procfs.Identity{PID: p.pid}] = p.command
	}
	return u
}

func (s *scene) Evidence() Evidence {
	s.reads++
	return Evidence{Network: map[uint64]uint64{7: uint64(s.network * s.ran().Seconds())},
		IO: IOs{{PID: 1}: {Read: uint64(s.io * s.ran().Seconds())}}, Output: s.Output()}
}

func (s *scene) Output() Output {
	if s.writes == 0 {
		return Output{Seen: !s.blind}
	}
	return Output{Seen: true, Mark: uint64(s.ran() / s.writes), Late: s.late}
}

// play lets so much time pass, and returns what was reached and when.
func (s *scene) play(w *Watch, length time.Duration) (kinds []hang.TriggerKind, when []time.Duration) {
	for end := s.now.Add(length); s.now.Before(end); {
		s.now = s.now.Add(w.Next(s.now))
		if t, ok := w.Check(s.now); ok {
			kinds, when = append(kinds, t.Kind), append(when, s.ran())
		}
	}
	return kinds, when
}

var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newScene(procs ...proc) *scene { return &scene{now: zero, began: zero, procs: procs} }

func TestIdleWindows(t *testing.T) {
	const busy = 10 * time.Minute
	for _, tt := range []struct {
		name  string
		scene *scene
		from  time.Duration // when it must be reached at the earliest, 0: never
		says  string
	}{
		{"nothing", newScene(proc{pid: 1}), 4 * time.Minute, ""},
		{"JVM in a deadlock", newScene(proc{pid: 1, cpu: 0.0008}), 4 * time.Minute, ""},
		{"just below", newScene(proc{pid: 1, cpu: 0.0095}), 4 * time.Minute, ""},
		{"just above", newScene(proc{pid: 1, cpu: 0.0105}), 0, ""},
		{"many that use little", newScene(proc{pid: 1, cpu: 0.009}, proc{pid: 2, cpu: 0.009}, proc{pid: 3, cpu: 0.009},
			proc{pid: 4, cpu: 0.009}, proc{pid: 5, cpu: 0.009}, proc{pid: 6, cpu: 0.009}), 0, ""},
		{"worked before", newScene(proc{pid: 1}, proc{pid: 2, cpu: 1, to: 5 * time.Minute}), 4 * time.Minute, ""},
		{"works later", newScene(proc{pid: 1}, proc{pid: 2, cpu: 1, from: 3 * time.Minute, to: busy}),
			14 * time.Minute, ""},
		{"download", &scene{procs: []proc{{pid: 1, cpu: 0.0019}}, network: 50e3}, 0, "went over the network"},
		{"trickle", &scene{procs: []proc{{pid: 1}}, network: 100}, 4 * time.Minute, ""},
		{"copies", &scene{procs: []proc{{pid: 1}}, io: 50e3}, 0, "were read and written"},
		{"writes", &scene{procs: []proc{{pid: 1}}, writes: time.Minute}, 0, "was written to its output"},
		{"wrote in the beginning", &scene{procs: []proc{{pid: 1}}, writes: time.Hour}, 4 * time.Minute, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := tt.scene
			s.now, s.began = zero, zero
			var said []string
			w := New(Limits{Idle: 4 * time.Minute, IdleCPU: 0.01}, zero, s, func(l string) { said = append(said, l) })
			kinds, when := s.play(w, 20*time.Minute)
			switch {
			case tt.from == 0 && len(kinds) > 0:
				t.Errorf("it is idle after %v", when[0])
			case tt.from > 0 && (len(kinds) != 1 || kinds[0] != hang.Idle):
				t.Fatalf("got %v, want idle once", kinds)
			case tt.from > 0 && (when[0] < tt.from || when[0] > tt.from+6*time.Minute):
				t.Errorf("it is idle after %v, want soon after %v", when[0], tt.from)
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, tt.says) || tt.says == "" && all != "" {
				t.Errorf("it says %q, want %q", all, tt.says)
			}
		})
	}
}

// A window that begins when work has ended is found at once, not at the end of the next window of that length.
func TestIdleSlides(t *testing.T) {
	s := newScene(proc{pid: 1}, proc{pid: 2, cpu: 1, to: 5 * time.Minute})
	_, when := s.play(New(Limits{Idle: 4 * time.Minute, IdleCPU: 0.01}, zero, s, quietly), 20*time.Minute)
	if len(when) != 1 || when[0] < 9*time.Minute || when[0] > 9*time.Minute+10*time.Second {
		t.Errorf("idle after %v, want 9 minutes", when)
	}
}

// What is busy costs no reading of files and sockets.
func TestBusyIsCheap(t *testing.T) {
	s := newScene(proc{pid: 1, cpu: 0.5})
	s.play(New(Limits{Idle: 4 * time.Minute, IdleCPU: 0.01}, zero, s, quietly), 20*time.Minute)
	if s.reads > 1 { // the first time nothing is known
		t.Errorf("evidence was read %d times", s.reads)
	}
}

// New commands excuse three windows, not more.
func TestNewCommands(t *testing.T) {
	s := newScene(proc{pid: 1})
	for i := range 100 {
		s.procs = append(s.procs, proc{pid: 10 + i, from: time.Duration(i) * 30 * time.Second,
			to: time.Duration(i+1) * 30 * time.Second, command: strings.Repeat("x", i)})
	}
	kinds, when := s.play(New(Limits{Idle: 4 * time.Minute, IdleCPU: 0.01}, zero, s, quietly), time.Hour)
	if len(kinds) != 1 || when[0] < 16*time.Minute || when[0] > 17*time.Minute {
		t.Errorf("got %v after %v, want idle after four windows", kinds, when)
	}
}

func TestSilence(t *testing.T) {
	limits := Limits{Silent: time.Minute}
	s := newScene(proc{pid: 1, cpu: 1})
	if _, when := s.play(New(limits, zero, s, quietly), time.Hour); len(when) != 1 || when[0] > 62*time.Second {
		t.Errorf("silent after %v, want a minute", when)
	}
	s = &scene{now: zero, began: zero, writes: 50 * time.Second}
	if kinds, _ := s.play(New(limits, zero, s, quietly), time.Hour); len(kinds) > 0 {
		t.Errorf("got %v of who writes", kinds)
	}
	s = &scene{now: zero, began: zero, writes: 64 * time.Second, late: 8 * time.Second}
	if kinds, _ := s.play(New(limits, zero, s, quietly), time.Hour); len(kinds) > 0 {
		t.Errorf("got %v of who writes and shows it late", kinds)
	}
	said := 0
	s = &scene{now: zero, began: zero, blind: true}
	if kinds, _ := s.play(New(limits, zero, s, func(string) { said++ }), time.Hour); len(kinds) > 0 || said != 1 {
		t.Errorf("of outputs that cannot be seen it got %v and said %d lines", kinds, said)
	}
}

// A warning comes before the deadline, each once and in time; a pause moves both.
func TestDeadline(t *testing.T) {
	limits := Limits{Warn: 90 * time.Second, Deadline: 2*time.Minute + 300*time.Millisecond}
	s := newScene(proc{pid: 1, cpu: 1})
	w := New(limits, zero, s, quietly)
	s.play(w, 30*time.Second)
	s.now = s.now.Add(time.Hour)
	w.Pause(time.Hour)
	kinds, when := s.play(w, time.Hour)
	want := []time.Duration{time.Hour + limits.Warn, time.Hour + limits.Deadline}
	if len(kinds) != 2 || kinds[0] != hang.Warned || kinds[1] != hang.Deadline {
		t.Fatalf("got %v", kinds)
	}
	for i := range want {
		if d := when[i] - want[i]; d < 0 || d > 10*time.Millisecond {
			t.Errorf("%v after %v, want %v", kinds[i], when[i], want[i])
		}
	}
}

// A deadline that passes while nothing is checked is found afterwards.
func TestSkip(t *testing.T) {
	s := newScene(proc{pid: 1})
	w := New(Limits{Deadline: time.Minute}, zero, s, quietly)
	s.play(w, 55*time.Second)
	for range 10 {
		s.now = s.now.Add(w.Next(s.now))
		w.Skip(s.now)
	}
	if kinds, when := s.play(w, 5*time.Second); len(kinds) != 1 || when[0] > 67*time.Second {
		t.Errorf("got %v after %v", kinds, when)
	}
}

// Who was stopped without a word is noticed by the time that is missing: windows begin again.
func TestGap(t *testing.T) {
	s := newScene(proc{pid: 1})
	w := New(Limits{Idle: time.Minute, IdleCPU: 0.01}, zero, s, quietly)
	s.play(w, 50*time.Second)
	s.now = s.now.Add(time.Hour)
	if kinds, _ := s.play(w, 40*time.Second); len(kinds) > 0 {
		t.Errorf("%v right after a gap", kinds)
	}
	if kinds, _ := s.play(w, 30*time.Second); len(kinds) != 1 {
		t.Errorf("got %v a minute after a gap", kinds)
	}
}

func quietly(string) {}

// A stop counts for no limit, however long checks take and are apart.
func TestResumed(t *testing.T) {
	const stop = 7 * time.Second
	for _, period := range []time.Duration{time.Second, 5 * time.Second, 10 * time.Second} {
		s := newScene(proc{pid: 1, cpu: 1})
		w := New(Limits{Deadline: 6 * time.Second}, s.began, s, nil)
		w.period = period
		s.now = s.now.Add(stop)
		w.Next(s.now)
		if !w.Overdue(s.now) {
			t.Errorf("period %s: a check %s later is not overdue", period, stop)
		}
		w.Resumed(s.now)
		if got, ok := w.Check(s.now); ok {
			t.Errorf("period %s: %v is reached after a stop", period, got.Kind)
		}
		w.period = period
		s.now = s.now.Add(w.Next(s.now))
		w.Resumed(s.now) // a SIGCONT to somebody who was not stopped
		if w.paused > stop {
			t.Errorf("period %s: %s do not count after a stop of %s", period, w.paused, stop)
		}
	}
}
