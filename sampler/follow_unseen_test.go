package sampler

import (
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// endedUnseen sums the CPU time that is shown as such.
func endedUnseen(p *profile.Profile) time.Duration {
	var sum time.Duration
	for i, s := range p.Samples {
		if f := p.Frames[p.Tree.Frame(s.Stack)]; f.Func == wordEnded && f.Kind == profile.Unknown {
			sum += time.Duration(p.Value(i)[2])
		}
	}
	return sum
}

func near(t *testing.T, what string, got, want, within time.Duration) {
	t.Helper()
	if got < want-within || got > want+within {
		t.Errorf("%s: got %v, want %v within %v", what, got, want, within)
	}
}

func TestTimeOfEndedThreadsAndChildrenIsShown(t *testing.T) {
	for _, tt := range []struct {
		name     string
		children bool
		clock    func(time.Duration) time.Duration // beside the busy thread
		reaped   func(time.Duration) time.Duration
		want     time.Duration // in ten seconds
	}{
		{"nothing ended", true, func(time.Duration) time.Duration { return 0 }, nil, 0},
		{"threads", false, func(now time.Duration) time.Duration { return now / 2 }, nil, 5 * time.Second},
		{"threads that ended before the recording", false, func(time.Duration) time.Duration { return time.Hour }, nil,
			0},
		{"children", true, func(time.Duration) time.Duration { return 0 },
			func(now time.Duration) time.Duration { return time.Hour + now/4 }, 2500 * time.Millisecond},
		{"children that nobody wants", false, func(time.Duration) time.Duration { return 0 },
			func(now time.Duration) time.Duration { return now / 4 }, 0},
		{"both", true, func(now time.Duration) time.Duration { return now / 2 },
			func(now time.Duration) time.Duration { return now / 4 }, 7500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(10 * time.Second)
			p := f.process(1)
			p.threads[1] = busy
			p.clock = func(now time.Duration) time.Duration { return now + tt.clock(now) }
			p.reaped = tt.reaped
			got, s, _ := drawn(t, f, Options{Rate: 99, Mode: CPU, Children: tt.children})
			near(t, wordEnded, endedUnseen(got), tt.want, 20*time.Millisecond)
			near(t, "reported", s.Unseen, tt.want, 20*time.Millisecond)
			_, _, all := amounts(got, 0, 0)
			near(t, "all CPU time", all, s.Elapsed+tt.want, 20*time.Millisecond)
		})
	}
}

// With -t all other threads are unseen as well, and have not ended.
func TestTimeOfThreadsThatNobodyWantsIsNotUnseen(t *testing.T) {
	f := newFake(4 * time.Second)
	p := f.process(1)
	p.threads[1], p.threads[2] = busy, busy
	p.clock = func(now time.Duration) time.Duration { return 2 * now }
	got, s, _ := drawn(t, f, Options{Rate: 99, Mode: CPU, TIDs: []int{1}})
	if d := endedUnseen(got); d != 0 || s.Unseen != 0 {
		t.Errorf("got %v, reported %v, want none", d, s.Unseen)
	}
}

// brood makes a child of process 1 every ten milliseconds: one that works for 4 ms at 0x2000.
func brood(f *fake, p *fakeProcess, threads bool) {
	const life = 4 * time.Millisecond
	born := 0
	worker := func(from time.Duration) func(time.Duration) view {
		return func(now time.Duration) view {
			return view{stack: []uint64{0x2000, 0x4000}, switches: 1, cpu: min(life, now-from), gone: now >= from+life}
		}
	}
	total := func(now time.Duration) time.Duration {
		return now/(10*time.Millisecond)*life + min(life, now%(10*time.Millisecond))
	}
	p.threads[1] = parked
	f.births = func(now time.Duration) {
		for ; time.Duration(born)*10*time.Millisecond <= now; born++ {
			from := time.Duration(born) * 10 * time.Millisecond
			f.last++
			if threads {
				p.threads[f.last], f.kin[f.last] = worker(from), [2]int{1, 0}
				continue
			}
			q := f.process(f.last)
			q.threads[f.last], f.kin[f.last] = worker(from), [2]int{f.last, 1}
			q.parent = 1
			q.clock = func(now time.Duration) time.Duration { return min(life, now-from) }
		}
	}
	if threads {
		p.clock = total
		return
	}
	p.clock = func(time.Duration) time.Duration { return 0 }
	p.reaped = func(now time.Duration) time.Duration { return now / (10 * time.Millisecond) * life }
}

// What samples met of many short threads, or processes, represents the others as far as chance allows to say.
func TestShortThreadsRepresentOneAnother(t *testing.T) {
	for name, threads := range map[string]bool{"threads": true, "processes": false} {
		t.Run(name, func(t *testing.T) {
			f := newFake(20 * time.Second)
			p := f.process(1)
			brood(f, p, threads)
			got, _, _ := drawn(t, f, Options{Rate: 99, Mode: CPU, Children: true})
			_, _, all := amounts(got, 0, 0)
			near(t, "all CPU time", all, 8*time.Second, 40*time.Millisecond)
			_, _, work := amounts(got, 0, 0x2000)
			rest := endedUnseen(got)
			if work < 6*time.Second || rest <= 0 || work+rest < all-20*time.Millisecond {
				t.Errorf("work %v, %s %v of %v: want most of it at work, and a rest", work, wordEnded, rest, all)
			}
			for _, task := range got.Tasks {
				if task.TID == 0 && !strings.HasPrefix(task.Thread, "(") {
					t.Errorf("task %+v has no id", task)
				}
			}
		})
	}
}

// A few samples prove nothing.
func TestFewShortThreadsRepresentNothing(t *testing.T) {
	e := &leftover{}
	for range 4 {
		e.add(1, 10*time.Millisecond, 1)
	}
	if d := e.proven(); d != 0 {
		t.Errorf("four samples prove %v", d)
	}
	for range 96 {
		e.add(1, 10*time.Millisecond, 1)
	}
	if d := e.proven(); d != 800*time.Millisecond {
		t.Errorf("a hundred samples of 10 ms prove %v, want 800 ms", d)
	}
}
