package sampler

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// wakers makes so many threads of p that sleep, and one, 50, that runs for a tenth of the time, three seconds at once.
func wakers(p *fakeProcess, n int) {
	const every, works = 30 * time.Second, 3 * time.Second
	took := func(now time.Duration) time.Duration { return now/every*works + max(0, now%every-(every-works)) }
	for tid := 1; tid <= n; tid++ {
		p.threads[tid] = parked
	}
	p.threads[50] = func(now time.Duration) view {
		v := view{stack: []uint64{0x1000, 0x4000}, asleep: true, switches: uint64(1 + 2*(now/every)), cpu: took(now)}
		if now%every >= every-works {
			v.stack, v.asleep, v.switches = []uint64{0x2000, 0x4000}, false, v.switches+1
		}
		return v
	}
	p.clock = took
}

// TestWakerIsFound: a thread that has rested is sampled when it runs, though its turn would come much later; its time
// is counted once, where it ran, and is not taken for that of threads that have ended.
func TestWakerIsFound(t *testing.T) {
	for name, opt := range map[string]Options{
		"gentle": {Rate: 19, Gentle: true, Stay: true},
		"slow":   {Rate: 0.5, Gentle: true, Stay: true},
		"usual":  {Rate: 99},
	} {
		t.Run(name, func(t *testing.T) {
			const end = 4*time.Minute + 100*time.Millisecond
			f := newFake(end)
			p := f.process(1)
			wakers(p, 5000)
			got, s, _ := drawn(t, f, opt)
			want := p.clock(end)
			_, _, all := amounts(got, 0, 0)
			near(t, "all CPU time", all, want, 20*time.Millisecond)
			near(t, wordEnded, endedUnseen(got)+s.Unseen, 0, 0)
			within := want / 4 // of eight times three seconds, sampled each two at the slowest
			if opt.Rate > 1 {
				within = want / 20
			}
			_, _, work := amounts(got, 50, 0x2000)
			near(t, "where it ran", work, want, within)
		})
	}
}

// TestSlowSamplesAreNotUnseen: what a thread took since a sample long ago is not that of one that has ended.
func TestSlowSamplesAreNotUnseen(t *testing.T) {
	f := newFake(5 * time.Minute)
	p := f.process(1)
	p.threads[1], p.threads[2] = busy, parked
	p.clock = func(now time.Duration) time.Duration { return now + now/10 } // others began and ended
	got, s, _ := drawn(t, f, Options{Rate: 0.3, Gentle: true, Stay: true})
	near(t, wordEnded, endedUnseen(got), s.Elapsed/10, 500*time.Millisecond)
	_, _, all := amounts(got, 0, 0)
	near(t, "all CPU time", all, s.Elapsed+s.Elapsed/10, 500*time.Millisecond)
}

// TestAuditsCostLittle: threads that end all the time, whose time is found nowhere, do not make all others be read all
// the time.
func TestAuditsCostLittle(t *testing.T) {
	reads := func(clock func(time.Duration) time.Duration) int {
		f := newFake(2 * time.Minute)
		p := f.process(1)
		for tid := 1; tid <= 5000; tid++ {
			p.threads[tid] = parked
		}
		p.clock = clock
		var got *profile.Profile
		got, _, _ = drawn(t, f, Options{Rate: 19, Gentle: true, Stay: true})
		if got == nil {
			t.Fatal("no profile")
		}
		return f.reads
	}
	idle := reads(func(time.Duration) time.Duration { return 0 })
	churn := reads(func(now time.Duration) time.Duration { return now / 2 })
	if churn < idle+5000 || churn > idle+10*5000 {
		t.Errorf("%d readings of counters, %d of an idle process: want a few times 5,000 more", churn, idle)
	}
}

// TestAuditEndsBesideBirths: threads that begin in every round do not keep an audit from its end.
func TestAuditEndsBesideBirths(t *testing.T) {
	const end, every, life = 20 * time.Second, 2 * time.Millisecond, 100 * time.Millisecond
	f := newFake(end)
	p := f.process(1)
	p.threads[1] = parked
	born := time.Duration(0)
	f.births = func(now time.Duration) {
		for ; born <= now; born += every {
			from := born
			f.last++
			f.kin[f.last] = [2]int{1, 0}
			p.threads[f.last] = func(now time.Duration) view {
				return view{stack: []uint64{0x2000, 0x4000}, switches: 1, cpu: now - from, gone: now >= from+life}
			}
		}
	}
	p.clock = func(now time.Duration) (sum time.Duration) { // and half a CPU that nobody heard of
		for from := time.Duration(0); from <= now; from += every {
			sum += min(life, now-from)
		}
		return sum + now/2
	}
	r := newRecorder(Options{Rate: 19, Mode: CPU}, f)
	t.Cleanup(func() { r.Close() })
	certain := time.Duration(0)
	f.cpu = func(now time.Duration) time.Duration { // asked in each round
		if all := r.ticker.follow.processes; len(all) > 0 && now < end-time.Second {
			certain = all[0].balance.certain
		}
		return 0
	}
	finish(t, r, f)
	if certain < 9*time.Second {
		t.Errorf("%v are certain near the end, want half of it and more", certain)
	}
}

// TestNobodyStaysStoppedForAnAudit: what was interrupted and stops while thousands of threads are read is let go.
func TestNobodyStaysStoppedForAnAudit(t *testing.T) {
	f := newFake(20 * time.Second)
	f.readTime = 4 * time.Microsecond
	p := f.process(1)
	for tid := 1; tid <= 4000; tid++ {
		p.threads[tid] = parked
	}
	p.threads[4001] = func(now time.Duration) view { v := busy(now); v.pause = 25 * time.Millisecond; return v }
	p.clock = func(now time.Duration) time.Duration { return now + now/2 }
	_, s, _ := drawn(t, f, Options{Rate: 99})
	if s.Stops < 100 || s.Unseen < 5*time.Second {
		t.Errorf("%d stops, %v unseen: the audits were not beside stops", s.Stops, s.Unseen)
	}
	if most := 2 * relieveEvery * f.readTime; f.stopped > most {
		t.Errorf("one was stopped for %v before it was copied, want %v at most", f.stopped, most)
	}
}
