package report

import (
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

func TestThreadName(t *testing.T) {
	for _, c := range []struct {
		runtime         *profile.RuntimeThread
		alone, together string
	}{
		{nil, `"worker"`, `"worker"`},
		{&profile.RuntimeThread{Language: "Python", Name: "worker"}, `"worker"`, `"worker"`},
		{&profile.RuntimeThread{Language: "Python", Name: "worker-1"}, `"worker" ("worker-1" in Python)`,
			`"worker" ("worker-1" in Python)`},
		{&profile.RuntimeThread{Language: ".NET", ID: 14, Name: "worker"}, `"worker" (14 in .NET)`, `"worker"`},
		{&profile.RuntimeThread{Language: ".NET", ID: 14, Name: "worker\n1"}, `"worker" (14 "worker\n1" in .NET)`,
			`"worker" ("worker\n1" in .NET)`},
	} {
		thread := &profile.Thread{TID: 812, Name: "worker", Runtime: c.runtime}
		if got := threadName(thread, true, true); got != c.alone {
			t.Errorf("%+v alone: %s, want %s", c.runtime, got, c.alone)
		}
		if got := threadName(thread, false, false); c.runtime != nil && got != text.Quote(c.runtime.Name) {
			t.Errorf("%+v in short: %s", c.runtime, got)
		}
		if got := threadName(thread, false, true); got != c.together {
			t.Errorf("%+v with others: %s, want %s", c.runtime, got, c.together)
		}
	}
}

// TestThreadNameInCore: a core file has no names of threads, which their language may have.
func TestThreadNameInCore(t *testing.T) {
	thread := &profile.Thread{TID: 812, Runtime: &profile.RuntimeThread{Language: "Python", Name: "loader"}}
	if got := threadName(thread, true, true); got != `("loader" in Python)` {
		t.Errorf("got %s", got)
	}
	dump := &profile.Dump{Core: true, Threads: []profile.Thread{*thread, {TID: 813}}}
	var b strings.Builder
	if err := Text(&b, dump, Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `812 "loader"`) || strings.Contains(b.String(), `""  `) {
		t.Errorf("shown as\n%s", b.String())
	}
}
