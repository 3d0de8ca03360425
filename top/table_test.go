package top

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

const msec = time.Millisecond

// program is one second of three threads:
//
//	a: main → work → leaf 300, main → work 100 (own), main → leaf 200
//	a: main → fib → fib → fib 150, main → fib 50: fib is on the stack 200 in all
//	b: start → idle → [futex] 1000
//	c: main → leaf → work → leaf 400: leaf twice, with work between
func program() *profile.Profile {
	return testProfile(
		spent{"main@/bin/prog@m.c:1;work@/bin/prog@m.c:20;leaf@/lib/libx.so.1@x.c:5", "a", 300 * msec},
		spent{"main@/bin/prog@m.c:1;work@/bin/prog@m.c:21", "a", 100 * msec},
		spent{"main@/bin/prog@m.c:2;leaf@/lib/libx.so.1@x.c:6", "a", 200 * msec},
		spent{"main@/bin/prog@m.c:3;fib@/bin/prog@f.c:9;fib@/bin/prog@f.c:9;fib@/bin/prog@f.c:8", "a", 150 * msec},
		spent{"main@/bin/prog@m.c:3;fib@/bin/prog@f.c:8", "a", 50 * msec},
		spent{"start@/lib/libc.so.6;idle@/bin/prog;[futex]", "b", 1000 * msec},
		spent{"main@/bin/prog@m.c:1;leaf@/lib/libx.so.1@x.c:5;work@/bin/prog@m.c:20;leaf@/lib/libx.so.1@x.c:5",
			"worker-c",
			400 * msec},
	)
}

func TestRows(t *testing.T) {
	for _, tc := range []struct {
		name string
		opt  Options
		want []string // name, self ms, total ms
	}{
		{"by function, waits left out", Options{},
			// leaf: 300+200+400; fib: 150+50, counted once a stack; work: 300+100+400
			[]string{"leaf 900 900", "fib 200 200", "work 100 800", "main 0 1200"}},
		{"with waits", Options{Idle: true},
			[]string{"futex 1000 1000", "leaf 900 900", "fib 200 200", "work 100 800", "main 0 1200", "idle 0 1000",
				"start 0 1000"}},
		{"by total", Options{Sort: SortTotal},
			[]string{"main 0 1200", "leaf 900 900", "work 100 800", "fib 200 200"}},
		{"by name", Options{Sort: SortName},
			[]string{"fib 200 200", "leaf 900 900", "main 0 1200", "work 100 800"}},
		{"by module", Options{Sort: SortModule},
			[]string{"fib 200 200", "work 100 800", "main 0 1200", "leaf 900 900"}},
		{"by file", Options{Sort: SortFile}, // f.c, then m.c by line, then x.c
			[]string{"fib 200 200", "main 0 1200", "work 100 800", "leaf 900 900"}},
		{"by line", Options{By: ByLine},
			// x.c:5 has 300 and 400, x.c:6 200; f.c:8 150 and 50, f.c:9 calls it for 150
			[]string{"leaf 700 700", "fib 200 200", "leaf 200 200", "work 100 100", "main 0 800", "work 0 700",
				"main 0 200",
				"main 0 200", "fib 0 150"}},
		{"by thread", Options{By: ByThread}, []string{"prog/a 100 800 800", "prog/worker-c 102 400 400"}},
		{"by thread with waits", Options{By: ByThread, Idle: true},
			[]string{"prog/b 101 1000 1000", "prog/a 100 800 800", "prog/worker-c 102 400 400"}},
		{"names that match", Options{Filter: "^(fib|work)$"}, []string{"fib 200 200", "work 100 800"}},
		{"a capital letter makes case matter", Options{Filter: "Fib"}, nil},
		{"a module", Options{Filter: "module:libx"}, []string{"leaf 900 900"}},
		{"one thread", Options{Filter: "thread:worker"}, []string{"leaf 400 400", "main 0 400", "work 0 400"}},
		{"a thread by its id, and a name", Options{Filter: "thread:102 leaf"}, []string{"leaf 400 400"}},
	} {
		m := modelOf(t, tc.opt, program())
		if got := rowsText(m.table.rows); !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestSharesAreOfWhatIsShown(t *testing.T) {
	for _, tc := range []struct {
		name string
		opt  Options
		want string // share of leaf's own time
	}{
		{"waits left out: 900 of 1200", Options{}, "75.0%"},
		{"waits shown: 900 of 2200", Options{Idle: true}, "40.9%"},
		{"a name's filter leaves the whole as it is", Options{Filter: "leaf"}, "75.0%"},
		{"one thread: 400 of 400", Options{Filter: "thread:worker"}, "100.0%"},
	} {
		m := modelOf(t, tc.opt, program())
		i := slices.IndexFunc(m.table.rows, func(r row) bool { return r.name == "leaf" })
		if i < 0 {
			t.Errorf("%s: no leaf in %q", tc.name, rowsText(m.table.rows))
		} else if got := m.table.cell(m.table.rows[i].self); got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestWaitingThreads(t *testing.T) {
	m := modelOf(t, Options{}, testProfile(spent{"main;[read]", "a", 10 * msec}, spent{"main;[futex]", "b", 10 * msec}))
	if m.table.waiting != 2 || len(m.table.rows) != 0 || m.ran != 0 {
		t.Errorf("got %d threads that wait, %d that ran, %d rows, want 2, 0, 0", m.table.waiting, m.ran,
			len(m.table.rows))
	}
	if got, want := m.emptyText(), "all 2 threads wait in the kernel; i shows where"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestCPUTimeHasNoIdle: what used the CPU on its way into a wait is shown without i.
func TestCPUTimeHasNoIdle(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime)
	p := b.Profile()
	p.Default = 2
	wait := b.Child(b.Child(0, b.Frame(profile.Frame{Func: "main", Module: -1})),
		b.Frame(profile.Frame{Func: "read", Module: -1, Kind: profile.Kernel}))
	b.Add(wait, b.Task(taskOf("a")), 100, int64(time.Second), int64(30*msec))
	b.Add(wait, b.Task(taskOf("b")), 100, int64(time.Second), 0)
	m := modelOf(t, Options{}, p)
	if got, want := rowsText(m.table.rows), []string{"read 30 30", "main 0 30"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if m.ran != 1 {
		t.Errorf("got %d threads that ran, want 1", m.ran)
	}
}

func TestPlaceIsTheHottestLine(t *testing.T) {
	m := modelOf(t, Options{Sort: SortName}, program())
	want := map[string]string{
		"leaf": "x.c:5",  // 700 own against 200 in x.c:6
		"fib":  "f.c:8",  // 200 own against none in f.c:9
		"work": "m.c:21", // 100 own against none in m.c:20
		"main": "m.c:1",  // none own: 800 below against 200 and 200
	}
	for i := range m.table.rows {
		if r := &m.table.rows[i]; rowPlace(r) != want[r.name] {
			t.Errorf("%s: got %s, want %s", r.name, rowPlace(r), want[r.name])
		}
	}
}

func TestNamelessCode(t *testing.T) {
	p := func() *profile.Profile {
		return testProfile(spent{"main@/bin/prog;0x10@/lib/stripped.so", "a", 30 * msec},
			spent{"main@/bin/prog;0x20@/lib/stripped.so", "a", 50 * msec})
	}
	for _, by := range []Grouping{ByFunction, ByLine} {
		m := modelOf(t, Options{By: by}, p())
		if got, want := rowsText(m.table.rows),
			[]string{"stripped.so+0x20 50 50", "stripped.so+0x10 30 30", "main 0 80"}; !slices.Equal(got, want) {
			t.Errorf("by %v: got %q, want %q", by, got, want)
		}
	}
}

// TestWrapperIsNotTheWait: libc's function and the system call of its name are two rows.
func TestWrapperIsNotTheWait(t *testing.T) {
	m := modelOf(t, Options{Idle: true}, testProfile(
		spent{"main@/bin/prog;poll@/lib/libc.so.6;[poll]", "a", 90 * msec},
		spent{"main@/bin/prog;poll@/lib/libc.so.6", "a", 10 * msec}))
	var b strings.Builder
	if err := m.print(&b, &PrintOptions{}, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"90.0%  90.0%  90.0 ms 90.0 ms poll (waits)",
		"10.0% 100.0%  10.0 ms  100 ms poll         libc.so.6"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	d := m.document()
	if len(d.Rows) != 3 || d.Rows[0].Name != "poll" || !d.Rows[0].Waits || d.Rows[1].Waits {
		t.Errorf("rows of the document: %+v", d.Rows)
	}
}

func TestCalls(t *testing.T) {
	for _, tc := range []struct {
		name, row        string
		opt              Options
		callers, callees []string
	}{
		{"called from two places", "leaf", Options{},
			// main → leaf: 200 and the 400 whose outermost leaf main called; work → leaf: 300
			[]string{"main 600", "work 300"},
			[]string{"(self) 900"}},
		{"calls and own time", "work", Options{},
			[]string{"leaf 400", "main 400"},
			[]string{"leaf 700", "(self) 100"}},
		{"recursion is no caller of itself", "fib", Options{},
			[]string{"main 200"}, []string{"(self) 200"}},
		{"the outermost", "main", Options{},
			[]string{"(root) 1200"},
			// the stack main leaf work leaf counts for leaf, which main called
			[]string{"leaf 600", "work 400", "fib 200"}},
		{"waits", "idle", Options{Idle: true}, []string{"start 1000"}, []string{"futex (waits) 1000"}},
		{"by line", "fib", Options{By: ByLine},
			[]string{"fib 150", "main 50"}, []string{"(self) 200"}},
		{"a thread's functions", "prog/a 100", Options{By: ByThread}, nil,
			[]string{"leaf 500", "fib 200", "work 100"}},
	} {
		m := modelOf(t, tc.opt, program())
		if !m.find("^"+tc.row, false) {
			t.Errorf("%s: no row %s in %q", tc.name, tc.row, rowsText(m.table.rows))
			continue
		}
		if got := callsText(m.calls.callers); !slices.Equal(got, tc.callers) {
			t.Errorf("%s: callers: got %q, want %q", tc.name, got, tc.callers)
		}
		if got := callsText(m.calls.callees); !slices.Equal(got, tc.callees) {
			t.Errorf("%s: callees: got %q, want %q", tc.name, got, tc.callees)
		}
	}
}

// TestAgainstCounting compares random stacks, many of them recursive, with sums made stack by
// stack from the text alone.
func TestAgainstCounting(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		var list []spent
		self, total := map[string]time.Duration{}, map[string]time.Duration{}
		callers, callees := map[string]time.Duration{}, map[string]time.Duration{}
		for range 40 {
			names := make([]string, 1+random.IntN(8))
			for i := range names {
				names[i] = string(rune('a' + random.IntN(5)))
			}
			wall := time.Duration(1+random.IntN(9)) * sampleEvery
			list = append(list, spent{strings.Join(names, ";"), "a", wall})
			self[names[len(names)-1]] += wall
			for i, name := range names {
				if slices.Index(names, name) == i {
					total[name] += wall
				}
			}
			if at := slices.Index(names, "b"); at >= 0 {
				callers[append([]string{"(root)"}, names...)[at]] += wall
				text := strings.Join(names, "")
				inner := strings.LastIndex(text, "b")
				callees[append(names, "(self)")[inner+1]] += wall
			}
		}
		m := modelOf(t, Options{}, testProfile(list...))
		for i := range m.table.rows {
			r := &m.table.rows[i]
			if time.Duration(r.self.value) != self[r.name] || time.Duration(r.total.value) != total[r.name] {
				t.Fatalf("round %d, %s: got %v and %v, want %v and %v", round, r.name, r.self.value, r.total.value,
					self[r.name],
					total[r.name])
			}
		}
		if !m.find("^b$", false) {
			continue
		}
		compareCalls(t, "callers", m.calls.callers, callers)
		compareCalls(t, "callees", m.calls.callees, callees)
	}
}

func compareCalls(t *testing.T, what string, got []call, want map[string]time.Duration) {
	t.Helper()
	for _, c := range got {
		if want[c.name] != time.Duration(c.got.value) {
			t.Fatalf("%s: %s: got %v, want %v", what, c.name, c.got.value, want[c.name])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: got %d, want %d", what, len(got), len(want))
	}
}

// TestNativeFolded: where most of what ran is a language's, native code below its functions is theirs, rows are what
// they were, and a person may ask for it apart.
func TestNativeFolded(t *testing.T) {
	b := profile.NewBuilder(profile.WallTime)
	main := b.Child(0, b.Frame(profile.Frame{Func: "main", Module: -1}))
	loads := b.Child(main, b.Frame(profile.Frame{Func: "loads", Kind: profile.Python, Module: -1}))
	scan := b.Child(loads, b.Frame(profile.Frame{Func: "scan_once", Module: -1}))
	b.Add(scan, -1, int64(300*msec))
	b.Add(loads, -1, int64(100*msec))
	b.Add(b.Child(main, b.Frame(profile.Frame{Func: "gc", Module: -1})), -1, int64(200*msec))
	b.Add(b.Child(scan, b.Frame(profile.Frame{Func: "read", Kind: profile.Kernel, Module: -1})), -1, int64(50*msec))
	rows := func(m *model) (out []string) {
		for i := range m.table.rows {
			r := &m.table.rows[i]
			out = append(out, fmt.Sprintf("%s %.0f %.0f", r.name, r.self.value/1e6, r.total.value/1e6))
		}
		return out
	}
	apart := []string{"scan_once 300 300", "gc 200 200", "loads 100 400", "main 0 600"}
	folded := []string{"loads 400 400", "gc 200 200", "main 0 600"}
	for _, tt := range []struct {
		opt  Options
		want []string
	}{
		{Options{}, folded}, {Options{Folded: true}, folded}, {Options{Apart: true}, apart},
		{Options{Idle: true}, []string{"loads 400 450", "gc 200 200", "read 50 50", "main 0 650"}},
	} {
		if got := rows(modelOf(t, tt.opt, b.Profile())); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: got %q, want %q", tt.opt, got, tt.want)
		}
	}
	m := modelOf(t, Options{}, b.Profile())
	m.choose(m.table.rows[1].id)
	typed(t, m, "v")
	if r, _ := m.chosenRow(); r.name != "gc" || !slices.Equal(rows(m), apart) {
		t.Errorf("v: %q is chosen of %q, want gc of %q", r.name, rows(m), apart)
	}
	m.take(b.Profile(), 2*time.Second, testStats)
	if m.view.native != nativeShown {
		t.Error("what a person has chosen does not stay")
	}
}
