package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// doubtful is a stack with a name that is not sure, and with frames missing behind one that is not shown by default.
func doubtful() *profile.Dump {
	frame := func(name string) profile.Frame {
		return profile.Frame{Func: name, Kind: profile.JavaScript, Module: -1, Addr: 0x1000}
	}
	leaf, stub, outer := frame("leaf"), frame("InterpreterEntry"), frame("outer")
	leaf.Unsure, leaf.Note = true, "its function was read when the thread ran again"
	stub.Stub, stub.Gap, stub.Note = true, true, "300 of 428 calls were copied"
	frames := []profile.Frame{leaf, frame("inner"), stub, outer}
	return &profile.Dump{Process: profile.Process{PID: 7, Comm: "node"}, Threads: []profile.Thread{
		{TID: 7, State: "R", Stack: profile.Stack{Frames: frames, Complete: true}}}}
}

// What is not sure, and what is missing, is said in each form, also where the frame that it is said of is hidden.
func TestDoubtsAreShown(t *testing.T) {
	for name, row := range map[string]struct {
		format Format
		want   []string
	}{
		"text": {Text, []string{"leaf   [javascript]  (name not sure)\n",
			"inner  [javascript]\n  ! frames are missing here: 300 of 428 calls were copied\n"}},
		"JSON": {JSON, []string{`"unsure": true`, `"gap": true`}},
	} {
		var out bytes.Buffer
		if err := row.format(&out, doubtful(), Options{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range row.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, out.String())
			}
		}
	}
}

// A dump that is read back says the same.
func TestDoubtsAreReadBack(t *testing.T) {
	var out bytes.Buffer
	if err := JSON(&out, doubtful(), Options{}); err != nil {
		t.Fatal(err)
	}
	d, err := NewReader(&out).Read()
	if err != nil {
		t.Fatal(err)
	}
	frames := d.Threads[0].Stack.Frames
	if !frames[0].Unsure || frames[0].Gap || !frames[2].Gap || frames[1].Gap {
		t.Errorf("got %+v", frames)
	}
}
