package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

func TestGDBGoldens(t *testing.T) {
	for _, c := range cases() {
		switch c.name {
		case "grouped", "grouped--skip-frames-2", "not-stopped", "special-frames", "escapes", "no-symbols",
			"stop-depth-limit", "stop-read-fault":
		default:
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			var got bytes.Buffer
			if err := GDB(&got, c.dump, c.opt); err != nil {
				t.Fatal(err)
			}
			compare(t, c.name+"--format-gdb.txt", got.Bytes())
		})
	}
}

// collapse counts stacks as stackcollapse-gdb.pl of the FlameGraph scripts does: a line of a
// frame has four words behind its number, any other line ends a stack.
func collapse(text string) map[string]int {
	frame := regexp.MustCompile(`^#[0-9]* *([^ ]*) ([^ ]*) ([^ ]*) ([^ ]*)`)
	out, current := map[string]int{}, ""
	flush := func() {
		if current != "" {
			out[current]++
		}
		current = ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "Thread") {
			current = "" // as the script does; ours has an empty line before
			continue
		}
		m := frame.FindStringSubmatch(line)
		if m == nil {
			flush()
			continue
		}
		name := m[1]
		if strings.Contains(name, "0x") {
			name = m[3]
		}
		if current != "" {
			name += ";"
		}
		current = name + current
	}
	flush()
	return out
}

func TestGDBIsTakenByStackcollapse(t *testing.T) {
	frame := func(i int, name string, kind profile.Kind) profile.Frame {
		return profile.Frame{Index: i, Addr: 0x1000 + uint64(i), Func: name, Kind: kind, Module: -1}
	}
	inlined := frame(1, "helper", profile.Native)
	inlined.Inlined, inlined.File, inlined.Line = true, "a.c", 3
	d := &profile.Dump{Process: profile.Process{PID: 1}}
	for tid, frames := range [][]profile.Frame{
		{frame(0, "poll", profile.Native), inlined, frame(1, "loop", profile.Native), frame(2, "main", profile.Native)},
		{frame(0, "handler", profile.Native), frame(1, "__restore_rt", profile.Signal),
			frame(2, "main", profile.Native)},
		{frame(0, "", profile.Unknown), frame(1, "main", profile.Native)},
		{frame(0, "poll", profile.Native), inlined, frame(1, "loop", profile.Native), frame(2, "main", profile.Native)},
	} {
		d.Threads = append(d.Threads, profile.Thread{TID: tid + 1,
			Stack: profile.Stack{Frames: frames, Complete: tid != 2, Stop: "no rule"}})
	}
	var text bytes.Buffer
	if err := GDB(&text, d, Options{}); err != nil {
		t.Fatal(err)
	}
	got := collapse(text.String())
	want := map[string]int{"main;loop;helper;poll": 2, "main;<signal;handler": 1, "main;??": 1}
	if len(got) != len(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for stack, n := range want {
		if got[stack] != n {
			t.Errorf("stack %q is counted %d times, want %d, in\n%s", stack, got[stack], n, text.String())
		}
	}
}
