package flame

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
)

// one returns a profile of one sample with the frames given, outermost first.
func one(names ...string) *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount)
	n := profile.NodeID(0)
	for _, name := range names {
		n = b.Child(n, b.Frame(profile.Frame{Func: name, Module: -1}))
	}
	b.Add(n, -1, 10)
	return b.Profile()
}

func TestFoldedNames(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	deep := slices.Repeat([]string{"f"}, 2000)
	for _, tt := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"plain", []string{"main", "work"}, "main;work 10\n"},
		{"separator", []string{"main", "a;b"}, "main;a:b 10\n"},
		{"last frame ends in a number", []string{"main", "b 3"}, "main;b_3 10\n"},
		{"last frame ends in a fraction", []string{"b 3.5"}, "b_3.5 10\n"},
		{"last frame ends in a number and a point", []string{"b 3."}, "b_3. 10\n"},
		{"no number behind the white space", []string{"b .5"}, "b .5 10\n"},
		{"a number without white space", []string{"b3"}, "b3 10\n"},
		{"a number alone", []string{"3"}, "3 10\n"},
		{"two numbers", []string{"b 1 2"}, "b 1_2 10\n"},
		{"white space inside", []string{"operator new", "a b"}, "operator new;a b 10\n"},
		{"white space around", []string{" main ", "\u00a0a\u2003"}, "main;a 10\n"},
		{"line ends", []string{"a\r\nb", "c\nd"}, "a??b;c?d 10\n"},
		{"line separators of Unicode", []string{"a\u2028b\u2029c\u0085d"}, "a?b?c?d 10\n"},
		{"tab and escape", []string{"a\tb", "\x1b[31mred"}, "a?b;?[31mred 10\n"},
		{"tab in front of a number", []string{"b\t3"}, "b?3 10\n"},
		{"bad UTF-8", []string{"a\xff\xfeb"}, "a\ufffd\ufffdb 10\n"},
		{"other scripts", []string{"главная", "関数"}, "главная;関数 10\n"},
		{"looks like a comment", []string{"# main"}, "# main 10\n"},
		{"white space alone", []string{"main", "  "}, "main;? 10\n"},
		{"no name", []string{"main", ""}, "main;? 10\n"},
		{"no frames", nil, "? 10\n"},
		{"10 kB", []string{long}, long + " 10\n"},
		{"2,000 deep", deep, strings.Repeat("f;", 1999) + "f 10\n"},
	} {
		got := folded(t, one(tt.frames...), FoldedOptions{})
		if got != tt.want {
			t.Errorf("%s: got %.200q, want %.200q", tt.name, got, tt.want)
		}
		p, report, err := ReadFolded(strings.NewReader(got))
		if err != nil || report.Skipped != 0 {
			t.Errorf("%s: read back: %v, %+v", tt.name, err, report)
			continue
		}
		if again := folded(t, p, FoldedOptions{}); again != got {
			t.Errorf("%s: written again: %.200q, want %.200q", tt.name, again, got)
		}
	}
}

// Names that come out alike are one line.
func TestFoldedJoins(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount)
	for i, name := range []string{"a;b", "a:b", "f", "f", " f"} {
		b.Add(b.Child(0, b.Frame(profile.Frame{Func: name, Addr: uint64(i), Module: -1})), -1, 1)
	}
	b.Add(b.Child(0, b.Frame(profile.Frame{Func: "zero", Module: -1})), -1, 0)
	if got, want := folded(t, b.Profile(), FoldedOptions{}), "a:b 2\nf 3\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFoldedOptions(t *testing.T) {
	p := sampled()
	for _, tt := range []struct {
		name string
		opt  FoldedOptions
	}{
		{"folded.golden", FoldedOptions{}},
		{"folded--wall.golden", FoldedOptions{Type: -1}},
		{"folded--threads.golden", FoldedOptions{Threads: true}},
	} {
		checkGolden(t, tt.name, []byte(folded(t, p, tt.opt)))
	}
}

func TestFoldedThreads(t *testing.T) {
	b := profile.NewBuilder(profile.SamplesCount)
	deep := b.Child(b.Child(0, b.Frame(profile.Frame{Func: "main", Module: -1})),
		b.Frame(profile.Frame{Func: "f", Module: -1}))
	b.Add(deep, b.Task(profile.Task{PID: 1, TID: 2, Process: "my app", Thread: "io 7"}), 1)
	b.Add(deep, b.Task(profile.Task{PID: 1, TID: 3, Process: "my app", Thread: "io 7"}), 2)
	b.Add(b.Profile().Tree.Parent(deep), 0, 4)
	b.Add(deep, -1, 8)
	b.Add(0, 1, 16)
	b.Add(0, b.Task(profile.Task{Thread: "a;b"}), 32)
	const want = "?;?;main;f 8\n?;a:b 32\nmy_app;io_7 16\nmy_app;io_7;main 4\nmy_app;io_7;main;f 3\n"
	if got := folded(t, b.Profile(), FoldedOptions{Threads: true}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFoldedRefusesBelowZero(t *testing.T) {
	p := one("m")
	p.Values[0] = -1
	if err := WriteFolded(&bytes.Buffer{}, p, FoldedOptions{}); err == nil {
		t.Error("a negative value was written")
	}
}

// randomProfile has names that sort in unlike orders before and behind ';' and ' '.
func randomProfile(seed uint64) *profile.Profile {
	r := rand.New(rand.NewPCG(seed, 0))
	names := []string{"a", "a b", "a!", "a-b", "a:b", "a<b>", "ab", "a 1", "a 1;b", "b", "é", "", "?", "a\x01", "1",
		"a 1 2"}
	b := profile.NewBuilder(profile.SamplesCount)
	for range 300 {
		n := profile.NodeID(0)
		for range r.IntN(5) {
			n = b.Child(n, b.Frame(profile.Frame{Func: names[r.IntN(len(names))], Addr: uint64(r.IntN(2)), Module: -1}))
		}
		b.Add(n, -1, int64(1+r.IntN(120)))
	}
	return b.Profile()
}

// Lines are in the order of their bytes, and their sums are those of the samples.
func TestFoldedIsSorted(t *testing.T) {
	for seed := range uint64(50) {
		p := randomProfile(seed)
		sums := map[string]int64{}
		for i, s := range p.Samples {
			var names []string
			for _, f := range slices.Backward(p.Tree.Append(nil, s.Stack)) {
				names = append(names, foldedName(p.Name(f)))
			}
			if len(names) == 0 {
				names = []string{"?"}
			}
			sums[strings.Join(names, ";")] += p.Value(i)[0]
		}
		var want []string
		for stack, v := range sums {
			want = append(want, fmt.Sprintf("%s %d\n", stack, v))
		}
		slices.SortFunc(want,
			func(a, b string) int { return strings.Compare(strings.TrimSpace(a), strings.TrimSpace(b)) })
		if got := folded(t, p, FoldedOptions{}); got != strings.Join(want, "") {
			t.Fatalf("seed %d: got\n%swant\n%s", seed, got, strings.Join(want, ""))
		}
	}
}

// A stack line as flamegraph.pl takes it apart. It takes a stack of the same form for one with a second column.
var perlLine = regexp.MustCompile(`^(.*)\s+?(\d+(?:\.\d*)?)$`)

// TestFoldedGrammar reads our lines by the expressions of flamegraph.pl.
func TestFoldedGrammar(t *testing.T) {
	for seed := range uint64(50) {
		text := folded(t, randomProfile(seed), FoldedOptions{})
		if !utf8.ValidString(text) || strings.Contains(text, "\r") {
			t.Fatalf("seed %d: not UTF-8, or a carriage return", seed)
		}
		for line := range strings.Lines(text) {
			m := perlLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if m == nil {
				t.Errorf("flamegraph.pl ignores %q", line)
			} else if perlLine.MatchString(m[1]) {
				t.Errorf("flamegraph.pl takes %q for a difference", line)
			}
		}
	}
}

// TestFlamegraphPl runs the script itself, where FLAMEGRAPH_PL names it.
func TestFlamegraphPl(t *testing.T) {
	script := os.Getenv("FLAMEGRAPH_PL")
	if script == "" {
		t.Skip("FLAMEGRAPH_PL is not set: no flamegraph.pl to run")
	}
	b := profile.NewBuilder(profile.SamplesCount)
	for _, name := range []string{"b 3", "a;b", "x\r\ny", "a\tb", "\x01\x1b[0m", "bad \xff", "", "<&>\"'", "# c",
		strings.Repeat("long", 2500)} {
		b.Add(b.Child(b.Child(0, b.Frame(profile.Frame{Func: "main", Module: -1})),
			b.Frame(profile.Frame{Func: name, Module: -1})), -1, 10)
	}
	cmd := exec.Command("perl", script)
	cmd.Stdin = strings.NewReader(folded(t, b.Profile(), FoldedOptions{}))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	svg, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("flamegraph.pl: %v: %s", err, stderr.String())
	}
	checkXML(t, svg)
	if got, want := strings.Count(string(svg), "<title>"), 12; got != want { // 10 leaves, main, all
		t.Errorf("flamegraph.pl shows %d frames, want %d", got, want)
	}
	if strings.Contains(string(svg), "; 0.00%)") || strings.Contains(string(svg), "+") &&
		strings.Contains(string(svg), "%; +") {
		t.Error("flamegraph.pl made a difference of it")
	}
}
