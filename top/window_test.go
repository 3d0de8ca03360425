package top

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// second is a profile of one second in which name had so much.
func second(list ...spent) *profile.Profile { return testProfile(list...) }

func TestWindow(t *testing.T) {
	a, b := second(spent{"main;a", "a", time.Second}), second(spent{"main;b", "a", time.Second})
	for _, tc := range []struct {
		name  string
		takes []*profile.Profile
		opt   Options
		want  []string
	}{
		{"one take counts as it is", []*profile.Profile{a}, Options{}, []string{"a 1000 1000", "main 0 1000"}},
		// Ages of the middles are 1.5 and 0.5 s, weights 0.85 and 0.95, scaled by 2/1.8.
		{"the younger weighs more", []*profile.Profile{a, b}, Options{},
			[]string{"b 1055.555556 1055.555556", "a 944.444444 944.444444", "main 0 2000"}},
		{"a steady load reads as its time", []*profile.Profile{a, a, a, a, a}, Options{},
			[]string{"a 5000 5000", "main 0 5000"}},
		// After 11 s the first second has left. Weights 0.95, 0.85 … 0.05 sum to 5, scaled by 2.
		{"what is older than the window has left",
			append([]*profile.Profile{a}, slices.Repeat([]*profile.Profile{b}, 10)...), Options{},
			[]string{"b 10000 10000", "main 0 10000"}},
		// Window 2 s: the middles are 1.5 and 0.5 s old, weights 0.25 and 0.75, scaled by 2.
		{"a shorter window", []*profile.Profile{a, a, b}, Options{Window: 2 * time.Second},
			[]string{"b 1500 1500", "a 500 500", "main 0 2000"}},
		{"since the begin all weighs the same",
			append([]*profile.Profile{a}, slices.Repeat([]*profile.Profile{b}, 10)...),
			Options{SinceBegin: true},
			[]string{"b 10000 10000", "a 1000 1000", "main 0 11000"}},
	} {
		m := modelOf(t, tc.opt, tc.takes...)
		if got := rowsText(m.table.rows); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestTrend(t *testing.T) {
	mixed := func(ofA int) *profile.Profile { // so many of 100 samples are in a
		return second(spent{"main;a", "a", time.Duration(ofA) * sampleEvery},
			spent{"main;b", "a", time.Duration(100-ofA) * sampleEvery})
	}
	for _, tc := range []struct {
		name        string
		early, late int // samples of 100 in a: in the first 7 and the last 3 s of the window
		want        Trend
	}{
		{"the same", 50, 50, Steady},
		// p = 0.515, deviation √(0.515·0.485·(1/700+1/300)) = 0.0345: 0.05 is within chance.
		{"within chance", 50, 55, Steady},
		// p = 0.545, deviation 0.0344: 0.15 is more than three of them.
		{"more than chance explains", 50, 65, Rising},
		{"less", 65, 50, Falling},
		{"gone", 100, 1, Falling},
		// p = 0.003, deviation 0.0038: 0.01 is below two points.
		{"too little to matter", 0, 1, Steady},
	} {
		m := modelOf(t, Options{}, append(slices.Repeat([]*profile.Profile{mixed(tc.early)}, 7),
			slices.Repeat([]*profile.Profile{mixed(tc.late)}, 3)...)...)
		i := slices.IndexFunc(m.table.rows, func(r row) bool { return r.name == "a" })
		if got := m.table.rows[i].trend; got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
	m := modelOf(t, Options{}, mixed(100))
	if got := m.table.rows[0].trend; got != Steady {
		t.Errorf("first second: got %v, want %v", got, Steady)
	}
}

// TestSameModuleInOtherOrder: takes number their modules, frames and threads as they like.
func TestSameModuleInOtherOrder(t *testing.T) {
	m := modelOf(t, Options{SinceBegin: true},
		second(spent{"main@/bin/prog;f@/lib/a.so", "a", 100 * msec}, spent{"main@/bin/prog;f@/lib/b.so", "b",
			200 * msec}),
		second(spent{"f@/lib/b.so", "b", 20 * msec}, spent{"main@/bin/prog;f@/lib/a.so", "a", 10 * msec}))
	// f is one function, whatever it lies in: see profile.Function.
	if got, want := rowsText(m.table.rows), []string{"f 330 330", "main 0 310"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, module := range []string{"/lib/a.so", "/lib/b.so"} {
		m.setView(func(v *view) { v.filter = parseFilter("module:" + module) })
		if got, want := rowsText(m.table.rows), []string{"f 330 330"}; !slices.Equal(got, want) {
			t.Errorf("of %s: got %q, want %q", module, got, want)
		}
	}
	if err := m.store.profile().CheckValid(); err != nil {
		t.Error(err)
	}
	if n := len(m.store.profile().Modules); n != 3 {
		t.Errorf("got %d modules, want 3", n)
	}
}

func TestCompactKeepsTheWindow(t *testing.T) {
	takes := []*profile.Profile{program()}
	for range 12 {
		takes = append(takes, second(spent{"main@/bin/prog;late@/lib/b.so@l.c:4", "d", time.Second},
			spent{"main@/bin/prog;[read]", "e", time.Second}))
	}
	m := modelOf(t, Options{}, takes...)
	before := rowsText(m.table.rows)
	m.store = m.store.compact()
	m.refresh()
	if got := rowsText(m.table.rows); !slices.Equal(got, before) {
		t.Errorf("the window: got %q, want %q", got, before)
	}
	m.setView(func(v *view) { v.sinceBegin = true })
	if got, want := rowsText(m.table.rows), []string{"late 10000 10000", "main 0 10000"}; !slices.Equal(got, want) {
		t.Errorf("since begin: got %q, want %q", got, want)
	}
	if m.store.begin != 3*time.Second {
		t.Errorf("begin: got %v, want 3s", m.store.begin)
	}
	if err := m.store.profile().CheckValid(); err != nil {
		t.Error(err)
	}
	if m.store.profile().Tree.Len() != 4 {
		t.Errorf("got %d stacks, want 4 with the empty one", m.store.profile().Tree.Len())
	}
}

// TestMemoryIsBounded: a target that makes stacks without end takes no memory without end.
func TestMemoryIsBounded(t *testing.T) {
	const limit, each = 5000, 200
	m := newModel(Options{limit: limit}.withDefaults())
	made := 0
	for i := range 60 {
		b := profile.NewBuilder(profile.SamplesCount)
		task := b.Task(taskOf("a"))
		top := b.Frame(profile.Frame{Func: "main", Module: -1})
		for range each {
			made++
			b.Add(b.Child(b.Child(0, top), b.Frame(profile.Frame{Module: -1, Addr: uint64(made)})), task, 1)
		}
		m.take(b.Profile(), time.Duration(i+1)*time.Second, Stats{})
		if got := m.store.profile().Tree.Len(); got > limit+each+1 {
			t.Fatalf("take %d: %d stacks are kept", i, got)
		}
	}
	if len(m.problems) == 0 || !strings.Contains(m.problems[0], "too many different stacks") {
		t.Errorf("it is not reported: %q", m.problems)
	}
	if got, want := m.table.sum.value, float64(10*each); got != want {
		t.Errorf("the window holds %v samples, want %v", got, want)
	}
}

func TestTakeRefuses(t *testing.T) {
	bad := testProfile(spent{"main", "a", time.Second})
	bad.Values = nil
	other := profile.NewBuilder(profile.SamplesCount).Profile()
	for name, p := range map[string]*profile.Profile{"not valid": bad, "other values": other} {
		m := modelOf(t, Options{}, program())
		m.take(p, 2*time.Second, Stats{})
		if len(m.problems) != 1 || len(m.table.rows) != 4 {
			t.Errorf("%s: got problems %q and %d rows, want one and 4", name, m.problems, len(m.table.rows))
		}
		m.take(p, 3*time.Second, Stats{})
		if len(m.problems) != 1 {
			t.Errorf("%s: reported again: %q", name, m.problems)
		}
	}
}
