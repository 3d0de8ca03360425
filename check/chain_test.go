package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// stack lays out frames by "PC@SP", innermost first; a PC with "s" in front is a trampoline.
func stack(t *testing.T, text string, stop unwind.Stop, err error) unwind.Stack {
	t.Helper()
	s := unwind.Stack{Stop: stop, Err: err}
	for word := range strings.FieldsSeq(text) {
		var pc, sp uint64
		rest, signal := strings.CutPrefix(word, "s")
		if _, err := fmt.Sscanf(rest, "%x@%x", &pc, &sp); err != nil {
			t.Fatal(err)
		}
		s.Frames = append(s.Frames, unwind.Frame{PC: mem.Addr(pc), SP: mem.Addr(sp), Signal: signal})
	}
	return s
}

func TestCompare(t *testing.T) {
	odd := errors.New("frame pointer 0x7f1 is not aligned to 8 bytes")
	for _, tt := range []struct {
		name       string
		full, bare unwind.Stack
		want       string
	}{
		{"the same", stack(t, "10@100 20@140 30@180", unwind.Root, nil), stack(t, "10@100 20@140 30@180", unwind.Root,
			nil),
			"3 of 3"},
		{"leaf without a record", stack(t, "10@100 20@108 30@140 40@180", unwind.Root, nil),
			stack(t, "10@100 30@140 40@180", unwind.Root, nil),
			"3 of 4, #0 skips 1"},
		{"two in a row", stack(t, "10@100 20@108 30@120 40@180", unwind.Root, nil),
			stack(t, "10@100 40@180", unwind.Root, nil),
			"2 of 4, #0 skips 1, #1 skips 1"},
		{"a value in the frame pointer", stack(t, "10@100 20@140 30@180 40@200", unwind.Root, nil),
			stack(t, "10@100 20@140", unwind.BadCFA, odd),
			"2 of 4, #1 ends 2 (" + odd.Error() + ")"},
		{"0 in the frame pointer", stack(t, "10@100 20@140", unwind.Root, nil), stack(t, "10@100", unwind.Root, nil),
			"1 of 2, #0 ends 1 (the frame pointer is 0)"},
		{"to somewhere else", stack(t, "10@100 20@140 30@180", unwind.Root, nil),
			stack(t, "10@100 66@150 77@160", unwind.Root, nil),
			"1 of 3, #0 astray 2 (the frame pointer leads to 0x66, which is no frame of the stack)"},
		{"recursion is told by its place", stack(t, "10@100 20@140 20@180 20@1c0 30@200", unwind.Root, nil),
			stack(t, "10@100 20@1c0 30@200", unwind.Root, nil), "3 of 5, #0 skips 1, #1 skips 1"},
		{"realigned stack: the PC decides", stack(t, "10@100 20@140 30@1c0", unwind.Root, nil),
			stack(t, "10@100 20@130 30@1c0", unwind.Root, nil),
			"3 of 3"},
		{"full walk was cut, the chain knows more", stack(t, "10@100 20@140", unwind.NoRule, errors.New("no row")),
			stack(t, "10@100 20@140 30@180", unwind.Root, nil),
			"2 of 2, cut no rule: no row"},
		{"not stopped", stack(t, "", unwind.NoContext, errors.New("thread 7 has no registers")),
			stack(t, "", unwind.NoContext, nil),
			"0 of 0, not walked thread 7 has no registers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tell(compare(&tt.full, &tt.bare)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func tell(t Thread) string {
	text := fmt.Sprintf("%d of %d", t.Reached, t.Frames)
	for _, b := range t.Breaks {
		text += fmt.Sprintf(", #%d %s %d", b.Frame, b.Effect, b.Lost)
		if b.Reason != "" {
			text += " (" + b.Reason + ")"
		}
	}
	if t.Stop != "" {
		text += ", cut " + t.Stop
	}
	if t.NotWalked != "" {
		text += ", not walked " + t.NotWalked
	}
	return text
}

// A recursion without frame records gives a break each: few are reported, the others counted.
func TestCompareIsBounded(t *testing.T) {
	full := unwind.Stack{}
	for i := range 50_000 {
		full.Frames = append(full.Frames, unwind.Frame{PC: 0x20, SP: mem.Addr(0x1000 + 16*i)})
	}
	bare := unwind.Stack{Frames: []unwind.Frame{full.Frames[0], full.Frames[len(full.Frames)-1]}}
	bare.Frames[1].PC = 0x30
	full.Frames[len(full.Frames)-1].PC = 0x30
	got := compare(&full, &bare)
	if len(got.Breaks) != maxBreaks || got.MoreBreaks != len(full.Frames)-2-maxBreaks {
		t.Errorf("%d breaks and %d more of %d frames", len(got.Breaks), got.MoreBreaks, len(full.Frames))
	}
	// Each frame of the chain fits every one of the walk by its PC, and none by its place.
	for i := range full.Frames {
		full.Frames[i].PC = 0x20
	}
	loose := unwind.Stack{Frames: make([]unwind.Frame, len(full.Frames))}
	for i := range loose.Frames {
		loose.Frames[i].PC = 0x20
	}
	if got := compare(&full, &loose); got.Reached != len(full.Frames) {
		t.Errorf("reached %d of %d", got.Reached, len(full.Frames))
	}
}

// namer names frames by their PC.
type namer struct{}

func (namer) Frames(fs []unwind.Frame) [][]profile.Frame {
	return [][]profile.Frame{{{Func: "inlined"}, {Func: fmt.Sprintf("f%x", uint64(fs[0].PC))}}}
}

func (namer) Bounds(*module.Module, module.Vaddr) (start, end module.Vaddr, ok bool) {
	return 0, 0, false
}

func TestThreadsAlikeAreOne(t *testing.T) {
	end := func(at string) unwind.Stack {
		return stack(t, "10@100 20@140", unwind.BadCFA, errors.New("frame pointer "+at+" lies outside of the stack"))
	}
	full := stack(t, "10@100 20@140 30@180", unwind.Root, nil)
	snap := &snapshot.Snapshot{Threads: []snapshot.Thread{{TID: 7, Comm: "main"}, {TID: 8, Comm: "w"},
		{TID: 9, Comm: "w"}}}
	got := Threads(snap, []unwind.Stack{full, full, full}, []unwind.Stack{end("0x1"), full, end("0x2")}, namer{},
		func(*module.Module) *Module { return nil })
	if len(got) != 2 || fmt.Sprint(got[0].TIDs, got[1].TIDs) != "[7 9] [8]" || fmt.Sprint(got[0].Names) != "[main w]" {
		t.Fatalf("got %+v", got)
	}
	b := got[0].Breaks[0]
	if b.Function != "f20" || b.Module != "" || !strings.Contains(b.Fix, "no file holds") ||
		!strings.Contains(b.Reason, "0x1") {
		t.Errorf("break %+v", b)
	}
}

func TestSignalIsNobodysFault(t *testing.T) {
	full := stack(t, "10@100 s20@140 30@180 40@200", unwind.Root, nil)
	bare := stack(t, "10@100 s20@140 40@200", unwind.Root, nil)
	snap := &snapshot.Snapshot{Threads: make([]snapshot.Thread, 1)}
	got := Threads(snap, []unwind.Stack{full}, []unwind.Stack{bare}, namer{},
		func(*module.Module) *Module { return nil })
	b := got[0].Breaks[0]
	if b.Frame != 1 || !b.Signal || b.Fix != "" || !strings.Contains(b.Reason, "signal") {
		t.Errorf("break %+v", b)
	}
}
