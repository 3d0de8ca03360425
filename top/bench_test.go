package top

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/fpstack/fpstack/profile"
)

// manyStacks is a profile of so many different stacks of about 17 frames out of 8,000 names, made
// by a walk down a random tree.
func manyStacks(stacks int) *profile.Profile {
	random := rand.New(rand.NewPCG(3, 4))
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime)
	b.Profile().Default = 1
	frames := make([]profile.FrameID, 8000)
	for i := range frames {
		frames[i] = b.Frame(profile.Frame{Func: fmt.Sprintf("namespace::class%d::method%d", i%100, i), Module: -1,
			File: fmt.Sprintf("src/file%d.cc", i%300), Line: i})
	}
	tasks := make([]int, 16)
	for i := range tasks {
		tasks[i] = b.Task(profile.Task{PID: 1, TID: 1 + i, Process: "prog", Thread: "worker"})
	}
	for len(b.Profile().Samples) < stacks {
		var n profile.NodeID
		for depth := range 10 + random.IntN(15) {
			n = b.Child(n, frames[(depth*300+int(random.ExpFloat64()*2))%len(frames)])
		}
		b.Add(n, tasks[random.IntN(len(tasks))], 1, int64(10*time.Millisecond))
	}
	return b.Profile()
}

// BenchmarkTake is what one take costs: merging it and summing up the table and the calls.
func BenchmarkTake(b *testing.B) {
	for _, stacks := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(stacks), func(b *testing.B) {
			p := manyStacks(stacks)
			for _, step := range []string{"first", "again"} {
				b.Run(step, func(b *testing.B) {
					defer b.ReportMetric(float64(p.Tree.Len()), "nodes")
					for b.Loop() {
						m := newModel(Options{}.withDefaults())
						if step == "again" {
							b.StopTimer()
							m.take(p, time.Second, Stats{})
							b.StartTimer()
						}
						m.take(p, 2*time.Second, Stats{})
					}
				})
			}
		})
	}
}

// BenchmarkKey is what a key costs that sums up again.
func BenchmarkKey(b *testing.B) {
	m := newModel(Options{}.withDefaults())
	m.take(manyStacks(100_000), time.Second, Stats{})
	for b.Loop() {
		m.press(tcell.NewEventKey(tcell.KeyRune, 't', tcell.ModNone))
	}
}

// BenchmarkDraw is what a picture costs.
func BenchmarkDraw(b *testing.B) {
	m := newModel(Options{}.withDefaults())
	m.take(manyStacks(100_000), time.Second, Stats{})
	s := tcell.NewSimulationScreen("UTF-8")
	if err := s.Init(); err != nil {
		b.Fatal(err)
	}
	defer s.Fini()
	s.SetSize(80, 24)
	u := &ui{screen: s, model: m, inks: inksFor(s, false)}
	for b.Loop() {
		u.draw()
	}
}
