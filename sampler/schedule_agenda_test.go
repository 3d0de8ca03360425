package sampler

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestARoundTouchesWhatIsDue has 20,000 threads that sleep and one that runs: once they are known to sleep long a round
// reads the counters of few, and passes over no others. All of their time is counted anyway.
func TestARoundTouchesWhatIsDue(t *testing.T) {
	const sleepers = 20_000
	f := newFake(12 * time.Second)
	p := f.process(1)
	p.threads[1] = busy
	for tid := 2; tid < sleepers+2; tid++ {
		p.threads[tid] = parked
	}
	r := newRecorder(Options{Rate: 99}, f)
	t.Cleanup(func() { r.Close() })
	r.draw = rand.New(rand.NewPCG(1, 1)).Float64
	k := r.ticker
	var rounds, met, most, from uint64
	var reads, mostReads, fromReads int
	f.births = func(now time.Duration) { // is called in each round
		if now < 6*time.Second {
			from, fromReads = k.turn.met, f.reads
			return
		}
		rounds++
		most, mostReads = max(most, k.turn.met-from), max(mostReads, f.reads-fromReads)
		met, reads = met+k.turn.met-from, reads+f.reads-fromReads
		from, fromReads = k.turn.met, f.reads
	}
	got, s := finish(t, r, f)
	if rounds < 400 || met == 0 || reads == 0 {
		t.Fatalf("%d rounds with %d threads due were seen, want some", rounds, met)
	}
	if mean := met / rounds; mean > 100 || most > 400 {
		t.Errorf("%d threads were due in a round, %d at the most: want 100 and 400", mean, most)
	}
	if mean := reads / int(rounds); mean > 100 || mostReads > 400 {
		t.Errorf("counters were read %d times in a round, %d at the most: want 100 and 400", mean, mostReads)
	}
	for tid := 2; tid < sleepers+2; tid += 997 {
		samples, wall, cpu := amounts(got, tid, 0x5000)
		if wall != s.Elapsed || cpu != 0 {
			t.Errorf("thread %d: wall %v, cpu %v, want %v and none", tid, wall, cpu, s.Elapsed)
		}
		if least := int64(s.Ticks) - sleepers/maxFirst - 2; samples < least || samples > int64(s.Ticks) {
			t.Errorf("thread %d: %d samples, want %d to %d", tid, samples, least, s.Ticks)
		}
	}
}

// TestLongSleepersThatWorkAreSeen has very many threads that sleep, of which each works for a tenth of a second now and
// then, at another place than the others: the CPU time is all there, and each place has its part of the wall time.
func TestLongSleepersThatWorkAreSeen(t *testing.T) {
	const threads, turn = 6000, 100 * time.Millisecond
	f := newFake(30 * time.Second)
	p := f.process(1)
	for tid := 1; tid <= threads; tid++ {
		at := time.Duration(tid%300) * turn // 20 of them work at a time
		p.threads[tid] = func(now time.Duration) view {
			switch {
			case now < at:
				return view{stack: []uint64{0x5000, 0x4000}, asleep: true}
			case now < at+turn:
				return view{stack: []uint64{0x2000, 0x4000}, switches: 1, cpu: now - at}
			}
			return view{stack: []uint64{0x5000, 0x4000}, asleep: true, switches: 1, cpu: turn}
		}
	}
	got, s, _ := drawn(t, f, Options{Rate: 99})
	_, ran, _ := amounts(got, 0, 0x2000)
	_, all, cpu := amounts(got, 0, 0)
	if want := threads * turn; cpu < want*98/100 || cpu > want {
		t.Errorf("CPU time %v, want %v", cpu, want)
	}
	if want := threads * turn; ran < want*3/4 || ran > want*5/4 {
		t.Errorf("wall time at work %v, want %v", ran, want)
	}
	if want := threads * s.Elapsed; all < want*99/100 || all > want {
		t.Errorf("wall time %v, want %v", all, want)
	}
}

// TestAgendaKeepsItsRoom: rounds that sample as many long sleepers as those before allocate nothing.
func TestAgendaKeepsItsRoom(t *testing.T) {
	var a agenda
	const every, each = 16, 64
	for i := range every * each {
		a.put(new(thread), 0, uint64(1+i%every))
	}
	round := uint64(0)
	turn := func() {
		for range 4 * maxRest { // each slot comes twice at least
			round++
			due := a.due(round, 0)
			for _, x := range due {
				a.put(x, round, every)
			}
		}
	}
	turn()
	if n := testing.AllocsPerRun(1, turn); n > 0 {
		t.Errorf("%v allocations in %d rounds, want none", n, 4*maxRest)
	}
}
