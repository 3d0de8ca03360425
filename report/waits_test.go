package report

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fpstack/fpstack/profile"
)

// bank is two tellers in a deadlock, a thread behind them, one that runs, and names with control characters.
func bank() *profile.Waits {
	wait := func(text, addr string, to int) *profile.Wait {
		return &profile.Wait{Text: text, Kind: "mutex", Addr: 0x5580, Mode: "one", Certainty: "proven",
			Wakers: []profile.Waker{{PID: 7, TID: to}}, Evidence: []string{"futex word 0x2", "owner word " + addr}}
	}
	thread := func(tid int, name, state string, w *profile.Wait) profile.WaitingThread {
		return profile.WaitingThread{PID: 7, Thread: profile.Thread{TID: tid, Name: name, State: state, Wait: w}}
	}
	return &profile.Waits{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Waiting: 4, Owned: 3,
		Processes: []profile.Process{{PID: 7, Comm: "ba\x1bnk"}, {PID: 9, Comm: "other"}},
		Threads: []profile.WaitingThread{
			thread(7, "ba\x1bnk", "S", &profile.Wait{Text: "waits for semaphore 0x10", Sort: profile.SortSemaphore,
				Kind: "semaphore", Mode: "any",
				Wakers: []profile.Waker{{PID: 7}}, Certainty: "possible", Timed: true, Left: time.Second}),
			thread(8, "teller", "S", wait("waits for mutex 0x5580 held by 9 \"teller\"", "9", 9)),
			thread(10, "idle", "S", wait("waits for mutex 0x5580 held by 9 \"teller\"", "9", 9)),
			thread(9, "teller", "S", wait("waits for mutex 0x5580 held by 8 \"teller\"", "8", 8)),
			thread(11, "runs", "R", nil)},
		Cycles: []profile.WaitCycle{{Kind: "deadlock", Text: "deadlock: 2 threads wait for each other",
			Threads: []int{8, 9}, Lines: []string{"thread 8 waits for 9", "thread 9 waits for 8\x07"},
			Stood: 305 * time.Microsecond, Behind: []int{10}}},
		Roots: []profile.WaitRoot{{Waker: profile.Waker{PID: 9}, Text: "thread 7 waits for process 9", Behind: []int{7},
			Certainty: "possible"}},
		Problems: []string{"process 9: \x1b[31m"}}
}

func TestWaitsText(t *testing.T) {
	var out bytes.Buffer
	if err := WaitsText(&out, bank(), Options{Group: true}); err != nil {
		t.Fatal(err)
	}
	want := `deadlock: 2 threads wait for each other
  thread 8 waits for 9
  thread 9 waits for 8\x07
  1 thread behind: 10
  none of them ran in the 305 µs between two readings
thread 7 waits for process 9
process 7 ba\x1bnk  5 threads
7 "ba\x1bnk"  waits for semaphore 0x10
2 threads 8,10 "teller", "idle"  each: waits for mutex 0x5580 held by 9 "teller"
9 "teller"  waits for mutex 0x5580 held by 8 "teller"
11 "runs"  computes
3 of 4 waits with a known owner
  ! process 9: \x1b[31m
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestWaitsTextShowsHowSureItIs(t *testing.T) {
	var out bytes.Buffer
	if err := WaitsText(&out, bank(), Options{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "  certainty: proven\n  futex word 0x2\n"); n != 3 {
		t.Errorf("the evidence of %d waits is shown, want 3:\n%s", n, out.String())
	}
}

func TestWaitsJSONFitsSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("../docs/schema/fpstack.waits.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*profile.Waits{bank(), {}} {
		var out bytes.Buffer
		if err := WaitsJSON(&out, w, Options{}); err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
		if err == nil {
			err = schema.Validate(doc)
		}
		if err != nil {
			t.Errorf("%v in:\n%s", err, out.String())
		}
		if broken := strings.Replace(out.String(), `"waiting"`, `"standing"`, 1); broken == out.String() {
			t.Error("the document has no member waiting")
		} else if doc, err = jsonschema.UnmarshalJSON(strings.NewReader(broken)); err != nil {
			t.Error(err)
		} else if schema.Validate(doc) == nil {
			t.Error("a document without waiting passes")
		}
	}
}

// TestDumpKeepsWaits: what a dump's document has of waits is read back, and shown again.
func TestDumpKeepsWaits(t *testing.T) {
	w := bank()
	d := redis()
	d.Threads[0].Wait = w.Threads[1].Wait
	d.Waits = &profile.Waits{Cycles: w.Cycles, Roots: w.Roots, Waiting: w.Waiting, Owned: w.Owned}
	document := checkJSON(t, d, Options{})
	again, err := NewReader(bytes.NewReader(document)).Read()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Waits, d.Waits) || !reflect.DeepEqual(again.Threads[0].Wait, d.Threads[0].Wait) {
		t.Errorf("read back: %+v and %+v,\nwritten %+v and %+v", again.Waits, again.Threads[0].Wait, d.Waits,
			d.Threads[0].Wait)
	}
	var out bytes.Buffer
	if err := Text(&out, again, Options{Group: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\ndeadlock: 2 threads wait for each other\n",
		"  waits for mutex 0x5580 held by 9 \"teller\"\n  #0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	for _, broken := range []string{`"stood_ns": 305000`, `"waiting": 4`} {
		key, _, _ := strings.Cut(broken, ":")
		bad := strings.Replace(string(document), broken, key+": -1", 1)
		if _, err := NewReader(strings.NewReader(bad)).Read(); err == nil {
			t.Errorf("a document with %s below 0 is read", key)
		}
	}
}

// TestWaitsTextIsShort: idle threads are counted, long addresses are shortened unless two would look alike, a set of
// descriptors is counted, and what concerns nobody who was asked for is left out.
func TestWaitsTextIsShort(t *testing.T) {
	wait := func(tid int, text string, w profile.Wait) profile.WaitingThread {
		w.Text = text
		return profile.WaitingThread{PID: 7, Thread: profile.Thread{TID: tid, Name: "t", State: "S", Wait: &w}}
	}
	w := &profile.Waits{Waiting: 3, Processes: []profile.Process{{PID: 7, Comm: "p"}, {PID: 9, Comm: "q"}},
		Threads: []profile.WaitingThread{
			wait(7, "waits for mutex 0x55d2f07940e0 held by 8",
				profile.Wait{Addr: 0x55d2f07940e0, Mode: profile.WaitOne}),
			wait(8, "waits for condition variable 0x55d2f0010040 (with mutex 0x7f1122334455)",
				profile.Wait{Addr: 0x55d2f0010040, With: 0x7f1122334455}),
			wait(10, "waits for mutex 0x55d2f0020040", profile.Wait{Addr: 0x55d2f0020040, Mode: profile.WaitOne}),
			wait(11, "waits for descriptors (5<pipe:[123]>)", profile.Wait{Brief: "waits for events: 1 pipe",
				Sort: profile.SortSet}),
			wait(12, "idle: Go sysmon", profile.Wait{Mode: profile.WaitIdle, Name: "Go sysmon"})},
		Roots: []profile.WaitRoot{{Waker: profile.Waker{PID: 9}, Text: "thread 90 waits for 9", Behind: []int{90}}}}
	w.Roots[0].PID = 90
	var out bytes.Buffer
	if err := WaitsText(&out, w, Options{Group: true}); err != nil {
		t.Fatal(err)
	}
	want := `process 7 p  5 threads
7 "t"  waits for mutex 0x55d2…40e0 held by 8
8 "t"  waits for condition variable 0x55d2f0010040 (with mutex 0x7f11…4455)
10 "t"  waits for mutex 0x55d2f0020040
11 "t"  waits for events: 1 pipe
+ 1 idle thread (1 Go sysmon)
no deadlock found; 0 of 3 waits with a known owner
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	w.Cycles = []profile.WaitCycle{{Kind: profile.CycleSupposed, Text: "perhaps a deadlock: 2 threads"}}
	if err := WaitsText(&out, w, Options{Group: true}); err != nil {
		t.Fatal(err)
	}
	if said := out.String(); !strings.HasSuffix(said, "\nno deadlock is proven; 0 of 3 waits with a known owner\n") ||
		!strings.Contains(said, "perhaps a deadlock") {
		t.Errorf("of a supposed one it says\n%s", said)
	}
	w.Cycles = nil
	out.Reset()
	if err := WaitsText(&out, w, Options{Group: true, Verbose: true}); err != nil {
		t.Fatal(err)
	}
	for _, whole := range []string{"0x55d2f07940e0", "0x7f1122334455", "5<pipe:[123]>", `12 "t"  S  idle: Go sysmon`} {
		if !strings.Contains(out.String(), whole) {
			t.Errorf("-v has no %q:\n%s", whole, out.String())
		}
	}
}

// TestRootsOfSets: what several threads wait for among other things is no line of a dump.
func TestRootsOfSets(t *testing.T) {
	for mode, told := range map[profile.WaitMode]bool{profile.WaitOne: true, profile.WaitAny: false} {
		d := redis()
		d.Threads[0].Wait = &profile.Wait{Text: "waits", Mode: mode}
		d.Waits = &profile.Waits{Roots: []profile.WaitRoot{{Text: "2 threads wait for process 3",
			Behind: []int{d.Threads[0].TID, 99}}}}
		var out bytes.Buffer
		if err := Text(&out, d, Options{Group: true}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "2 threads wait for process 3"); got != told {
			t.Errorf("waits for %s: told %t, want %t", mode, got, told)
		}
	}
}
