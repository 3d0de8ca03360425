//go:build linux

package v8

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/sampler"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// newest is the last of the versions that each run has.
func newest(t testing.TB) string {
	t.Helper()
	all := versions(t)
	return all[len(all)-1]
}

// TestSleeper: a thread that sleeps in a function is copied without a stop, and named.
func TestSleeper(t *testing.T) {
	for _, version := range versions(t) {
		if !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		t.Run(version, func(t *testing.T) { checkSleeper(t, start(t, version, nil, "sleeper.js")) })
	}
}

func checkSleeper(t *testing.T, x *target) {
	ids, err := x.ThreadIDs()
	if err != nil {
		t.Fatal(err)
	}
	w, err := x.Watch(ids[0])
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := tracer.Copy{Copiers: x.Runtimes.Copiers()}
	for range 100 { // it has said that it is about to sleep
		if err = w.Peek(&c, x.Set.Table()); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.Thread.Registers != nil || c.Pause != 0 {
		t.Error("a thread that was not stopped has registers")
	}
	stack := x.Walker.Walk(&c.Thread, (&snapshot.Snapshot{}).Reader(&c.Thread, x), unwind.Options{})
	s := x.Names.Stack(&stack)
	if v, why := x.check(&s); v != right || len(javascript(&s)) < 4 {
		x.describe(t, &s)
		t.Errorf("%s: %s; %d frames of JavaScript", v, why, len(javascript(&s)))
	}
}

// TestReplay: a snapshot that was written says the same when it is read again without the process.
func TestReplay(t *testing.T) {
	x := start(t, newest(t), nil, "loop.js")
	s := x.Stop(t)
	before := x.Stacks(s)[0]
	if v, why := x.check(&before); v != right {
		t.Fatalf("%s: %s", v, why)
	}
	s.Memory = append(s.Memory, x.Runtimes.Facts()...)
	var file bytes.Buffer
	if err := snapshot.Write(&file, s); err != nil {
		t.Fatal(err)
	}
	x.end()
	s, err := snapshot.NewReader(&file, nil).Read()
	if err != nil {
		t.Fatal(err)
	}
	replayed := walked.Recorded(t, s, func(m *maps.Mapping) (*module.File, error) {
		data, err := os.ReadFile(m.Path)
		return &module.File{Data: data, Path: m.Path}, err
	}, walked.Options{Names: resolve.Options{NoLines: true}})
	after := replayed.Stack(s, 0)
	if got, want := lines(&after), lines(&before); !slices.Equal(got, want) || !after.Complete {
		t.Errorf("replayed: %s\n%q, want\n%q (%s)", after.Detail, got, want, after.Stop)
	}
}

// lines are the frames of JavaScript with their places.
func lines(s *profile.Stack) (out []string) {
	for _, f := range javascript(s) {
		out = append(out, f.Func+" "+f.File+" "+f.Tier)
	}
	return out
}

// TestRecording: the profile of a recording has functions and their own kind, also when the process has ended.
func TestRecording(t *testing.T) {
	x := start(t, newest(t), nil, "loop.js")
	p := record(t, x, time.Second)
	whole, all := int64(0), int64(0)
	for i := range p.Samples {
		var names []string
		for n := p.Samples[i].Stack; n != 0; n = p.Tree.Parent(n) {
			f := &p.Frames[p.Tree.Frame(n)]
			names = append(names, f.Func)
			if f.Stub || f.Func == "outer" && f.Kind != profile.JavaScript {
				t.Errorf("frame %+v", f)
			}
		}
		if !slices.Contains(names, "<anonymous>") { // another thread
			continue
		}
		all += p.Value(i)[0]
		if strings.Contains(strings.Join(names, " "), "middle outer <anonymous>") && names[len(names)-1] == "_start" {
			whole += p.Value(i)[0]
		}
	}
	if all < 20 || whole < all*9/10 {
		t.Errorf("%d of %d samples have the whole chain", whole, all)
	}
}

// TestOneName: in a recording all frames of a method have the same name, with its class, though that cannot be known
// where it was inlined when it was first seen.
func TestOneName(t *testing.T) {
	for _, version := range versions(t) {
		if !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		t.Run(version, func(t *testing.T) {
			p := record(t, start(t, version, nil, "methods.js"), 2*time.Second)
			names, inlined := map[string]bool{}, false
			for i := range p.Frames {
				if f := &p.Frames[i]; last(f.Func) == "walk" {
					names[f.Func], inlined = true, inlined || f.Inlined
				}
			}
			if len(names) != 1 || !names["Robot.walk"] || !inlined {
				t.Errorf("the method is named %v, inlined %t", names, inlined)
			}
		})
	}
}

// record records the process of x, which x does not trace any more, and ends it.
func record(t *testing.T, x *target, d time.Duration) *profile.Profile {
	t.Helper()
	kinds := vm.NewTable(vm.Kinds, nil)
	r := sampler.New(sampler.Options{Rate: 199,
		Runtimes: func(i module.Image) sampler.Runtimes { return kinds.Process(i) }})
	t.Cleanup(func() { r.Close() })
	pid := x.PID()
	x.Close()
	if err := r.Add(pid); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	x.end()
	p, err := r.Take()
	if err != nil {
		t.Fatal(err)
	}
	return p
}
