package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestPlaces: a file is called by as little of its path as tells it from the others of the dump.
func TestPlaces(t *testing.T) {
	files := map[string]string{
		"/src/bank/teller.c": "teller.c", "src/ae.c": "ae.c", "plain.c": "plain.c",
		"/a/x/net.c": "x/net.c", "/a/y/net.c": "y/net.c", "/b/y/net.c": "b/y/net.c",
		"/usr/lib/python3.11/re/__init__.py":   "re/__init__.py",
		"/usr/lib/python3.11/json/__init__.py": "json/__init__.py",
		"/srv/index.js":                        "srv/index.js",
		"node:internal/timers":                 "node:internal/timers",
		"https://example.org/a.js":             "https://example.org/a.js",
		"/":                                    "/", "/top.c": "top.c", "dir/top.c/": "dir/top.c/",
	}
	files["/a/y/net.c"] = "a/y/net.c" // y/net.c is the end of two
	d := &profile.Dump{Threads: []profile.Thread{{}}}
	for file := range files {
		d.Threads[0].Stack.Frames = append(d.Threads[0].Stack.Frames, profile.Frame{File: file})
	}
	got := newPlaces(d)
	for file, want := range files {
		if got[file] != want {
			t.Errorf("%q is called %q, want %q", file, got[file], want)
		}
	}
}

// TestColoursChangeNoLine: where a line ends does not depend on colours, and every Wait is dressed as such.
func TestColoursChangeNoLine(t *testing.T) {
	d := wide()
	d.Threads[0].Wait = &profile.Wait{Sort: profile.SortLock, Mode: profile.WaitOne,
		Text: "waits for mutex 0x7f3a10000040 held by 28272 \"a rather long name\", " + strings.Repeat("and more ", 12)}
	dress := func(part Part, s string) string {
		if part == Wait && strings.ContainsRune(s, '\n') {
			t.Errorf("%q is dressed over the end of a line", s)
		}
		if part == Wait {
			return "\x1b[33m" + s + "\x1b[0m"
		}
		return s
	}
	for _, cells := range []int{0, 40, 80, 200} {
		var plain, dressed bytes.Buffer
		Text(&plain, d, Options{Width: cells, Group: true})
		Text(&dressed, d, Options{Width: cells, Group: true, Style: dress})
		without := strings.NewReplacer("\x1b[33m", "", "\x1b[0m", "").Replace(dressed.String())
		if without != plain.String() {
			t.Errorf("at %d cells colours change the lines:\n%s\n%s", cells, plain.String(), without)
		}
		if !strings.Contains(dressed.String(), "\x1b[33mwaits for mutex") {
			t.Errorf("at %d cells the wait is not dressed:\n%s", cells, dressed.String())
		}
	}
}

// TestEntriesRank: what is stuck or computes comes first, then functions of a language, and idle threads are apart.
func TestEntriesRank(t *testing.T) {
	thread := func(tid int, state string, wait *profile.Wait, kind profile.Kind) profile.Thread {
		return profile.Thread{TID: tid, State: state, Wait: wait, Stack: profile.Stack{Complete: true,
			Frames: []profile.Frame{{Addr: uint64(tid), Func: "work", Kind: kind, Module: -1}}}}
	}
	lock := &profile.Wait{Mode: profile.WaitOne, Sort: profile.SortLock}
	idle := thread(1, "S", nil, profile.Native)
	idle.Idle = "Go sysmon"
	d := &profile.Dump{Process: profile.Process{PID: 2}, Threads: []profile.Thread{idle,
		thread(2, "S", nil, profile.Native), thread(3, "S", nil, profile.Python), thread(4, "R", nil, profile.Native),
		thread(5, "S", lock, profile.Native), thread(6, "S", lock, profile.Native),
		thread(7, "D", nil, profile.Native)},
		Waits: &profile.Waits{Cycles: []profile.WaitCycle{{Threads: []int{6}}}}}
	for _, row := range []struct {
		opt  Options
		want []int
	}{
		{Options{Group: true}, []int{6, 4, 5, 7, 3, 2}},
		{Options{Group: true, All: true}, []int{6, 4, 5, 7, 3, 2, 1}},
		{Options{Group: true, Verbose: true}, []int{6, 4, 5, 7, 3, 2, 1}},
		{Options{}, []int{1, 2, 3, 4, 5, 6, 7}},
	} {
		shown, apart := entries(d, &row.opt)
		var got []int
		for _, e := range shown {
			got = append(got, e.threads[0].TID)
		}
		if len(got)+len(apart) != len(d.Threads) || len(got) != len(row.want) {
			t.Fatalf("%+v: %v and %d idle, want %v", row.opt, got, len(apart), row.want)
		}
		for i := range got {
			if got[i] != row.want[i] {
				t.Errorf("%+v: %v, want %v", row.opt, got, row.want)
				break
			}
		}
	}
	d.Threads = d.Threads[:1]
	if shown, apart := entries(d, &Options{Group: true}); len(shown) != 1 || len(apart) != 0 {
		t.Error("of a process whose threads are all idle nothing is shown")
	}
}
