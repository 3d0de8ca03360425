package flame

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestPerfScriptOfPerf compares the reader with the rules of stackcollapse-perf.pl, on what perf wrote.
func TestPerfScriptOfPerf(t *testing.T) {
	text, err := os.ReadFile("testdata/perf-script.txt")
	if err != nil {
		t.Fatal(err)
	}
	frame := regexp.MustCompile(`^\s*\w+\s*(.+) \((.*)\)$`) // of stackcollapse-perf.pl
	want := map[string]int{}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		var names []string
		for line := range strings.SplitSeq(block, "\n") {
			m := frame.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			name := regexp.MustCompile(`\+0x[\da-f]+$`).ReplaceAllString(m[1], "")
			if name == "[unknown]" {
				name = "[" + m[2][strings.LastIndex(m[2], "/")+1:] + "]"
			}
			names = append(names, name)
		}
		slices.Reverse(names)
		want[strings.Join(names, ";")]++
	}
	for _, data := range [][]byte{text, gzipped(t, text), bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")),
		append([]byte("# ========\n# captured on    : today\n# ========\n#\n"), text...)} {
		p, err := read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		checkValid(t, p)
		got := map[string]int{}
		for line := range strings.Lines(folded(t, p, FoldedOptions{})) {
			at := strings.LastIndex(line, " ")
			got[line[:at]], _ = strconv.Atoi(strings.TrimSpace(line[at:]))
		}
		for stack, n := range want {
			if got[stack] != n {
				t.Errorf("%q: got %d, want %d", stack, got[stack], n)
			}
		}
		if len(got) != len(want) || len(want) < 5 || len(p.Comments) > 0 || p.Duration <= 0 || len(p.Tasks) != 1 {
			t.Errorf("%d stacks, want %d; comments %q, duration %v, tasks %v", len(got), len(want), p.Comments,
				p.Duration, p.Tasks)
		}
	}
}

func TestPerfScriptForms(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"name with spaces, process and thread, CPU, no period",
			"Web Content  12/34 [003] 5.000001: cycles:u:\n\t  7f01 a::b(int)+0x1 (/x/libfoo.so)\n\t  7f02 c (/x/y " +
				"(deleted))\n\n",
			"?-12;Web_Content-34;c;a::b(int) 1"},
		{"flags, tracepoint with text",
			"x 3 [000] d..2 1.000001: sched:sched_switch: prev=(a) ==> b\n\tffffffff81 f+0x1 ([kernel.kallsyms])\n\n",
			"?;x-3;f_[k] 1"},
		{"no stack, the frame in the same line",
			"dd 3 1.000001:  1 cycles:  7f01 f+0x1 (/bin/dd)\ncafe 4 1.000002:  1 cycles:  7f01 [unknown] " +
				"([unknown])\n",
			"?;cafe-4;[unknown] 1\n?;dd-3;f 1"},
		{"inlined, JIT, a module of the kernel, vdso",
			"j 3 1.000001: 1 cpu-clock:\n\t 1 in (inlined)\n\t 1 out+0x1 (/bin/j)\n\t 2 L;f;+0x1 " +
				"(/tmp/perf-3.map)\n\t 3 g ([nf_conntrack])\n\t 4 [unknown] ([vdso])\n\n",
			"?;j-3;[vdso];g_[k];L:f:_[j];out;in_[i] 1"},
		{"no frames at all", "j 3 1.000001: 1 cpu-clock:\n\nj 3 1.000002: 1 cpu-clock:\n\t 1 f (/j)\n\n",
			"?;j-3 1\n?;j-3;f 1"},
		{"twice the same, no end", "j 3 1.000001: 1 cpu-clock:\n\t 1 f (/j)\nj 3 1.000002: 1 cpu-clock:\n\t 1 f (/j)",
			"?;j-3;f 2"},
	} {
		p, err := read(strings.NewReader(tt.text))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		checkValid(t, p)
		if got := strings.TrimSpace(folded(t, marked(p), FoldedOptions{Threads: true})); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// Several events are never added up.
func TestPerfScriptEvents(t *testing.T) {
	p, err := ReadPerfScript(
		strings.NewReader(
			"a 3 1.000001: 7 cycles:\n\t 1 f (/j)\n\na 3 1.000002: 9 cache-misses:\n\t 1 f (/j)\n\na 3 1.000003: 9 " +
				"cache-misses:\n\t 1 g (/j)\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	checkValid(t, p)
	want := []profile.ValueType{{Type: "cycles", Unit: "count"}, {Type: "cache-misses", Unit: "count"}}
	if !slices.Equal(p.Types, want) || !slices.Equal(p.Totals(), []int64{1, 2}) || len(p.Comments) != 1 ||
		len(p.Samples) != 2 {
		t.Errorf("types %v, totals %v, comments %q", p.Types, p.Totals(), p.Comments)
	}
}

func TestPerfScriptRefuses(t *testing.T) {
	const begin = "a 3 1.000001: 7 cycles:\n"
	var events strings.Builder
	for i := range maxPerfEvents + 1 {
		events.WriteString("a 3 1.000001: 7 e" + strconv.Itoa(i) + ":\n\n")
	}
	for _, tt := range []struct{ name, text, want string }{
		{"a header and nothing that is a frame", begin + strings.Repeat("what is this\n", 9),
			"9 of 10 lines are not understood"},
		{"a line without an end", begin + "\t1 " + strings.Repeat("x", maxPerfLine), "line 2 is longer than 1 MiB"},
		{"more events than perf takes", events.String(), "more than 64 events"},
		{"only what is no sample", "# ========\n# captured on : x\n", "0 of 2 lines"},
	} {
		if p, err := read(strings.NewReader(tt.text)); err == nil || p != nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	deep := begin + strings.Repeat("\t1 f (/j)\n", maxPerfDepth+5) + "\n"
	p, err := read(strings.NewReader(deep))
	if err == nil && p.Tree.Len() != maxPerfDepth+1 || err != nil && !strings.Contains(err.Error(), "not understood") {
		t.Errorf("a stack that is too deep: %v", err)
	}
	if err == nil && (len(p.Comments) == 0 || !strings.HasPrefix(p.Comments[0], "5 of ")) {
		t.Errorf("frames were left out, and the comments are %q", p.Comments)
	}
}
