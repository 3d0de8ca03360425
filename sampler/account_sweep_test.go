package sampler

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// TestProcessesComeAndGo: ten thousand processes one after the other, each with code of its own, leave nothing behind;
// what stays keeps its names and its time.
func TestProcessesComeAndGo(t *testing.T) {
	const all, life = 10_000, 500 * time.Millisecond
	f := newFake(100 * time.Hour)
	f.process(1).threads[1] = busy
	r := newRecorder(Options{Rate: 20, Stay: true, Gentle: true}, f)
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	f.cancel, f.settle = cancel, r.settled
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	add := func(pid int) {
		if err := r.Add(pid); err != nil {
			t.Fatal(err)
		}
	}
	add(1)
	var wall, stayed time.Duration
	var early, late runtime.MemStats
	begun := f.Now()
	for i := range all {
		pid := 100 + i
		end := f.Now() + life
		f.mu.Lock()
		p := f.process(pid)
		f.mu.Unlock()
		for tid := 10 * pid; tid < 10*pid+3; tid++ {
			p.threads[tid] = func(now time.Duration) view {
				return view{stack: []uint64{uint64(0x200000 + 16*pid), 0x4000}, asleep: tid%10 > 0,
					switches: uint64(now), cpu: now, gone: now > end}
			}
		}
		add(pid)
		if i%50 == 49 {
			at := f.Now() + time.Second
			p, err := r.takeAt(ctx, at, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, w, _ := amounts(p, 0, 0)
			_, one, _ := amounts(p, 1, 0)
			wall, stayed = wall+w, stayed+one
		}
		if i == all/5 {
			runtime.GC()
			runtime.ReadMemStats(&early)
		}
	}
	until(t, r, "the last end", func(s Stats) bool { return s.Processes == 1 })
	end := f.Now() + 2*sweepEvery
	last, err := r.takeAt(ctx, end, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, w, _ := amounts(last, 0, 0)
	_, one, _ := amounts(last, 1, 0)
	wall, stayed = wall+w, stayed+one
	runtime.GC()
	runtime.ReadMemStats(&late)
	if grown := int64(late.HeapAlloc) - int64(early.HeapAlloc); grown > 2<<20+all*600 { // what the drawn machine keeps
		t.Errorf("%d bytes more after %d processes than after a fifth of them", grown, all)
	}
	if stayed < (end-begun)*99/100 {
		t.Errorf("the process that stayed has %v of %v", stayed, end-begun)
	}
	if wall < stayed+all*life {
		t.Errorf("%v in all, want some %v of the others", wall-stayed, all*life)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	c, k := r.counter, r.ticker
	for what, n := range map[string]int{"tasks": len(c.tasks), "threads": len(c.live), "programs": len(c.programs),
		"leftovers": len(c.leftovers), "sites": len(c.book.sites), "made": len(c.book.made),
		"places": len(c.book.places),
		"names":  len(r.naming.sites), "processes": len(k.follow.processes), "ids": len(k.follow.byPID),
		"folds":  len(c.folds),
		"stacks": c.book.tree.Len(), "refused": len(k.follow.refused), "doubtful": len(c.doubtful)} {
		if n > 60 {
			t.Errorf("%d %s are left", n, what)
		}
	}
}

// TestSweepKeepsNames: what stays is named once, also when others were forgotten.
func TestSweepKeepsNames(t *testing.T) {
	b := newBook()
	c := &counter{opt: &Options{Stay: true}, book: b, ledger: newLedger(false), live: map[*track]struct{}{},
		programs: map[*program]struct{}{}, leftovers: map[*leftover]struct{}{}}
	n := newNamer(&Options{})
	for i := range 10 {
		g := &program{number: int32(i), closed: i%2 == 0}
		if !g.closed {
			c.programs[g] = struct{}{}
		}
		id, _ := b.frame(site{module: -1 - int32(i), addr: uint64(i)})
		n.sites[id] = []profile.Frame{{Func: string(rune('a' + i)), Module: -1}}
	}
	old := n.sites
	u := c.inUse()
	moved := &renumbering{frames: map[profile.FrameID]profile.FrameID{}, places: map[int32]int32{}}
	for i, s := range b.sites {
		if u.has(&s) {
			moved.frames[profile.FrameID(i)] = profile.FrameID(len(moved.frames))
		}
	}
	n.names.Forget()
	n.renumber(&extract{generation: 1, moved: moved})
	if len(n.sites) != 5 {
		t.Fatalf("%d names are left, want 5: %v of %v", len(n.sites), n.sites, old)
	}
	for i := range 5 {
		if got := n.sites[profile.FrameID(i)][0].Func; got != string(rune('b'+2*i)) {
			t.Errorf("site %d is named %q", i, got)
		}
	}
}
