package top

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// busy is a second of three threads: "a" computes, "b" waits but used a fifth of a CPU between two samples, "c"
// waits alone; and CPU time of threads that ended unseen.
func busy() *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime)
	b.Profile().Default = 1
	work := b.Child(0, b.Frame(profile.Frame{Func: "work", Module: -1}))
	wait := b.Child(0, b.Frame(profile.Frame{Func: "futex", Kind: profile.Kernel, Module: -1}))
	second := int64(time.Second)
	b.Add(work, b.Task(taskOf("a")), 100, second, second*9/10)
	b.Add(wait, b.Task(taskOf("b")), 100, second, second/5)
	b.Add(wait, b.Task(taskOf("c")), 100, second, 0)
	b.Add(b.Child(0, b.Frame(profile.Frame{Func: "(ended unseen)", Module: -1, Kind: profile.Unknown})), -1, 0, 0, second/10)
	return b.Profile()
}

func TestCPU(t *testing.T) {
	near := func(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-6 }
	for _, opt := range []Options{{By: ByThread, Sort: SortCPU}, {By: ByThread, Sort: SortCPU, SinceBegin: true},
		{By: ByThread, Sort: SortCPU, Idle: true}, {By: ByThread, Sort: SortCPU, Window: 3 * time.Second}} {
		m := modelOf(t, opt, busy(), busy(), busy(), busy(), busy())
		d := m.document()
		if !near(d.CPU, 1.2) {
			t.Errorf("%+v: the process used %v, want 1.2", opt, *d.CPU)
		}
		got := map[string]*float64{}
		for _, r := range d.Rows {
			got[r.Name] = r.CPUShare
		}
		if !near(got["prog/a 100"], 0.9) || !near(got["prog/b 101"], 0.2) || d.Rows[0].Name != "prog/a 100" || d.Rows[1].Name != "prog/b 101" {
			t.Errorf("%+v: rows %+v", opt, d.Rows)
		}
		if _, shown := got["prog/c 102"]; shown != opt.Idle {
			t.Errorf("%+v: a thread that only waited: shown %v", opt, shown)
		}
		var drawn strings.Builder
		for _, l := range m.lines() {
			for _, s := range l {
				drawn.WriteString(s.text)
			}
			drawn.WriteByte('\n')
		}
		if text := drawn.String(); !strings.Contains(text, "CPU 120.0 %  ") || !strings.Contains(text, " 90.0% ") {
			t.Errorf("%+v: drawn\n%s", opt, text)
		}
	}
	m := modelOf(t, Options{Filter: "thread:a"}, busy())
	if d := m.document(); !near(d.CPU, 1.2) {
		t.Errorf("with a filter the process used %v, want 1.2", *d.CPU)
	}
	// CPU time that nobody counted is not none.
	m = modelOf(t, Options{By: ByThread}, testProfile(program2()...))
	if d := m.document(); d.CPU != nil || d.Rows[0].CPUShare != nil || m.head().cpu() != "CPU -" {
		t.Errorf("a profile without CPU time: %+v, %q", d, m.head().cpu())
	}
}
