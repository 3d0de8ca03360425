package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/profile"
)

func TestVerdictTextIsShort(t *testing.T) {
	for _, row := range []struct {
		name            string
		because, width  int
		wantMore, wants string
	}{
		{"all fit", 39, 0, "", "line 38 "},
		{"one too many", 40, 0, "… 2 more", "line 37 "},
		{"many", 500, 0, "more", "line 37 "},
		{"wrapped", 30, 40, "more", "line 5 "},
		{"wrapped and few", 5, 40, "", "line 4 "},
	} {
		v := &hang.Verdict{Sentence: "job (7) waits for a signal"}
		for i := range row.because {
			v.Because = append(v.Because, fmt.Sprintf("line %d which is longer than a narrow screen, by some", i))
		}
		var b bytes.Buffer
		if err := VerdictText(&b, v, Options{Width: row.width}); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if n := strings.Count(got, "\n"); n > maxVerdict {
			t.Errorf("%s: got %d lines, want %d or fewer", row.name, n, maxVerdict)
		}
		if !strings.Contains(got, row.wants) || strings.Contains(got, "more") != (row.wantMore != "") ||
			!strings.Contains(got, row.wantMore) {
			t.Errorf("%s: want %q and %q in\n%s", row.name, row.wants, row.wantMore, got)
		}
	}
}

// TestVerdictAddresses: a verdict has addresses as short as a dump has them, but for two that would look alike, and
// whole ones with -v.
func TestVerdictAddresses(t *testing.T) {
	v := &hang.Verdict{Sentence: "deadlock: 2 threads wait for each other", Because: []string{
		"thread 8 waits for mutex 0x55d2f07940e0 held by 9",
		"thread 9 waits for threading.Lock 0x7f8f3d0a4cc0 held by 8",
		"also 0x7f8f000a4cc0"}}
	for verbose, want := range map[bool][]string{
		false: {"mutex 0x55d2…40e0 held", "Lock 0x7f8f3d0a4cc0 held", "0x7f8f000a4cc0"},
		true:  {"mutex 0x55d2f07940e0 held", "Lock 0x7f8f3d0a4cc0 held"},
	} {
		var b bytes.Buffer
		if err := VerdictText(&b, v, Options{Verbose: verbose}); err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(b.String(), part) {
				t.Errorf("verbose %v: no %q in\n%s", verbose, part, b.String())
			}
		}
	}
}

func TestCulpritComesFirst(t *testing.T) {
	var m hang.Moment
	for pid := 1; pid <= 3; pid++ {
		m.Dumps = append(m.Dumps, &profile.Dump{Process: profile.Process{PID: pid, Comm: "p"}})
	}
	v := &hang.Verdict{Sentence: "p (2) waits", Culprit: &hang.Culprit{PID: 2}, Lacks: []string{"process 9: \x1b[31m"}}
	var b bytes.Buffer
	if err := VerdictText(&b, v, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := HangStacks(&b, &hang.Case{Moments: []hang.Moment{m}}, v, Options{}); err != nil {
		t.Fatal(err)
	}
	want := "p (2) waits\n  ! process 9: \\x1b[31m\n\nprocess 2 p"
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant it to begin\n%s", got, want)
	}
}

// TestHangStacksTellOnce: a cycle is not below each process that it goes through, and not again where the verdict has
// it.
func TestHangStacksTellOnce(t *testing.T) {
	dump := func(pid int) *profile.Dump {
		cycles := []profile.WaitCycle{{Kind: profile.CycleDeadlock, Text: "one cycle", Threads: []int{1, 2}},
			{Kind: profile.CycleDeadlock, Text: "another cycle", Threads: []int{3, 4}}}
		return &profile.Dump{Process: profile.Process{PID: pid, Comm: "p"}, Waits: &profile.Waits{Cycles: cycles}}
	}
	dumps := []*profile.Dump{dump(7), dump(8)}
	c := &hang.Case{Moments: []hang.Moment{{Dumps: dumps}}}
	for _, tt := range []struct {
		told         []int
		one, another int
	}{{nil, 1, 1}, {[]int{1, 2}, 0, 1}} {
		var out strings.Builder
		if err := HangStacks(&out, c, &hang.Verdict{Cycle: tt.told}, Options{}); err != nil {
			t.Fatal(err)
		}
		one, another := strings.Count(out.String(), "one cycle"), strings.Count(out.String(), "another cycle")
		if one != tt.one || another != tt.another {
			t.Errorf("told %v: %d and %d times, want %d and %d:\n%s", tt.told, one, another, tt.one, tt.another, &out)
		}
	}
	if len(dumps[0].Waits.Cycles) != 2 {
		t.Error("the dump itself was changed")
	}
}
