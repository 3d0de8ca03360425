//go:build linux && (amd64 || arm64)

package python

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/vm"
)

// TestLockHolders: of two threads that spin and others that wait a recording of who holds the GIL counts the two,
// together for no more than the time that passed.
func TestLockHolders(t *testing.T) {
	each(t, 8, func(t *testing.T, in interpreter) {
		if !*full && !slices.Contains(quick, in.minor) {
			return // -full has it
		}
		x := start(t, in, "threads.py", in.withGIL())
		table := vm.NewTable(vm.Kinds, nil)
		table.CopyHolders()
		r := sampler.New(sampler.Options{Rate: 199, LockHolders: true,
			Runtimes: func(i module.Image) sampler.Runtimes { return table.Process(i) }})
		defer r.Close()
		if err := r.Add(x.PID()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		p, err := r.Take()
		if err != nil {
			t.Fatal(err)
		}
		wall := slices.Index(p.Types, profile.WallTime)
		spins, all := time.Duration(0), time.Duration(0)
		for i := range p.Samples {
			d := time.Duration(p.Value(i)[wall])
			all += d
			for n := p.Samples[i].Stack; n != 0; n = p.Tree.Parent(n) {
				if p.Frames[p.Tree.Frame(n)].Func == "spin" {
					spins += d
					break
				}
			}
		}
		// The hasher gives the GIL up while it works, and has it for a moment.
		if spins == 0 || spins < all*9/10 || all > took*5/4 {
			t.Errorf("in %v who held the GIL counts for %v, %v of it in the threads that spin", took, all, spins)
		}
	})
}
