package flame

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/fpstack/fpstack/profile"
)

func checkXML(t *testing.T, text []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = true
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
}

// sums returns values by stack, outermost first, frames joined by "|".
func sums(p *profile.Profile) map[string][]int64 {
	out := map[string][]int64{}
	for i, s := range p.Samples {
		var names []string
		for _, f := range slices.Backward(p.Tree.Append(nil, s.Stack)) {
			names = append(names, p.Frames[f].Func)
		}
		out[strings.Join(names, "|")] = p.Value(i)
	}
	return out
}

func TestReadFolded(t *testing.T) {
	big := strings.Repeat("f;", 99_999) + "f 1\n"
	for _, tt := range []struct {
		name, in string
		want     map[string][]int64
		report   FoldedReport
	}{
		{name: "plain", in: "a;b 2\na 3\n", want: map[string][]int64{"a|b": {2}, "a": {3}},
			report: FoldedReport{Lines: 2}},
		{name: "no line end at the end", in: "a;b 2", want: map[string][]int64{"a|b": {2}},
			report: FoldedReport{Lines: 1}},
		{name: "the same stack again", in: "a;b 2\nc 1\na;b 5\n", want: map[string][]int64{"a|b": {7}, "c": {1}},
			report: FoldedReport{Lines: 3}},
		{name: "CR LF", in: "a;b 2\r\nc 1\r\n", want: map[string][]int64{"a|b": {2}, "c": {1}},
			report: FoldedReport{Lines: 2}},
		{name: "tab", in: "a;b\t2\n", want: map[string][]int64{"a|b": {2}}, report: FoldedReport{Lines: 1}},
		{name: "more white space", in: "  a;b \t 2  \n", want: map[string][]int64{"a|b": {2}},
			report: FoldedReport{Lines: 1}},
		{name: "white space in a frame", in: "operator new;a b c 2\n",
			want:   map[string][]int64{"operator new|a b c": {2}},
			report: FoldedReport{Lines: 1}},
		{name: "empty frame inside", in: "a;;b 2\n", want: map[string][]int64{"a||b": {2}},
			report: FoldedReport{Lines: 1}},
		{name: "separators at the end", in: "a;b;; 2\n", want: map[string][]int64{"a|b": {2}},
			report: FoldedReport{Lines: 1}},
		{name: "looks like a comment", in: "# text 5\n", want: map[string][]int64{"# text": {5}},
			report: FoldedReport{Lines: 1}},
		{name: "begins with a bracket", in: "[unknown];<module>;{closure} 5\n",
			want: map[string][]int64{"[unknown]|<module>|{closure}": {5}}, report: FoldedReport{Lines: 1}},
		{name: "bad UTF-8", in: "a\xff;b 2\n", want: map[string][]int64{"a\xff|b": {2}},
			report: FoldedReport{Lines: 1}},
		{name: "zero", in: "a 0\nb 1\n", want: map[string][]int64{"b": {1}}, report: FoldedReport{Lines: 2}},
		{name: "blank lines", in: "\n\na 1\n \n", want: map[string][]int64{"a": {1}}, report: FoldedReport{Lines: 1}},
		{name: "fractions are scaled", in: "a 1.5\nb 2\nc 0.25\n",
			want: map[string][]int64{"a": {150}, "b": {200}, "c": {25}}, report: FoldedReport{Lines: 3, Factor: 100}},
		{name: "a point without digits", in: "a 7.\n", want: map[string][]int64{"a": {7}},
			report: FoldedReport{Lines: 1}},
		{name: "zeros behind the point", in: "a 7.000\n", want: map[string][]int64{"a": {7}},
			report: FoldedReport{Lines: 1}},
		{name: "more digits than six", in: "a 0.3333333\nb 0.6666666\nc 1.9999999\n",
			want:   map[string][]int64{"a": {333333}, "b": {666667}, "c": {2000000}},
			report: FoldedReport{Lines: 3, Factor: 1_000_000}},
		{name: "fractions that do not fit", in: "a 900000000000000000.5\nb 0.5\n",
			want: map[string][]int64{"a": {9000000000000000005}, "b": {5}}, report: FoldedReport{Lines: 2, Factor: 10}},
		{name: "exponents, signs and words are not understood",
			in:   "a 1\nb 1e3\nc -5\nd\n5\ne x\n;; 7\nf 99999999999999999999\n" + strings.Repeat("a 1\n", 6),
			want: map[string][]int64{"a": {7}}, report: FoldedReport{Lines: 7, Skipped: 7, Number: 2, First: "b 1e3"}},
		{name: "the first that is not understood behind blank lines", in: "a 1\n\nb 2\n\n\nc\r\n",
			want:   map[string][]int64{"a": {1}, "b": {2}},
			report: FoldedReport{Lines: 2, Skipped: 1, Number: 6, First: "c"}},
		{name: "a number at the end of a name", in: "a;b 2 3\na 4\n",
			want:   map[string][]int64{"a|b 2": {3}, "a": {4}},
			report: FoldedReport{Lines: 2}},
		{name: "a number that is a frame is no column", in: "a;10 4\n", want: map[string][]int64{"a|10": {4}},
			report: FoldedReport{Lines: 1}},
		{name: "100,000 deep", in: big,
			want:   map[string][]int64{strings.TrimSuffix(strings.Repeat("f|", 100_000), "|"): {1}},
			report: FoldedReport{Lines: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.report.Factor = max(1, tt.report.Factor)
			p, report, err := ReadFolded(iotest.HalfReader(strings.NewReader(tt.in)))
			if err != nil {
				t.Fatal(err)
			}
			checkValid(t, p)
			if report != tt.report {
				t.Errorf("report %+v, want %+v", report, tt.report)
			}
			if !slices.Equal(p.Comments, report.Comments()) {
				t.Errorf("comments %q, want %q", p.Comments, report.Comments())
			}
			got := sums(p)
			for stack, v := range tt.want {
				if !slices.Equal(got[stack], v) {
					t.Errorf("stack %.50q: got %v, want %v", stack, got[stack], v)
				}
			}
			if len(got) != len(tt.want) {
				t.Errorf("got %d stacks, want %d", len(got), len(tt.want))
			}
		})
	}
}

func TestReadFoldedMarks(t *testing.T) {
	p, _, err := ReadFolded(strings.NewReader("main;read_[k];f_[j];g_[i];h_[w];i[k] 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []profile.Frame{
		{Func: "main", Module: -1}, {Func: "read", Kind: profile.Kernel, Module: -1},
		{Func: "f", Kind: profile.JIT, Module: -1},
		{Func: "g", Inlined: true, Module: -1}, {Func: "h_[w]", Module: -1}, {Func: "i[k]", Module: -1},
	}
	if !slices.Equal(p.Frames, want) {
		t.Errorf("got %+v, want %+v", p.Frames, want)
	}
	const again = "main;read_[k];f_[j];g_[i];h_[w];i[k] 1\n"
	if got := folded(t, marked(p), FoldedOptions{}); got != again {
		t.Errorf("written again: %q, want %q", got, again)
	}
}

// What waits has a system call's name, as fpstack's own frames of waits have. The lines of perf and of
// bpf tools have the kernel's own functions, in which the thread ran.
func TestReadFoldedKernel(t *testing.T) {
	const text = "app;main;read;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];ksys_read_[k];vfs_read_[k] 7\n" +
		"app;main;read;read_[k] 20\napp;asm_sysvec_apic_timer_interrupt_[k] 1\napp;(blocked)_[k] 2\napp;system " +
		"call_999_[k] 3\napp;futex_time64_[k] 4\n"
	p, _, err := ReadFolded(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	checkValid(t, p)
	want := []profile.Module{{}, {Path: "[kernel.kallsyms]"}}
	if !reflect.DeepEqual(p.Modules, want) {
		t.Errorf("modules %+v, want %+v", p.Modules, want)
	}
	waits := "(blocked) futex_time64 read system call_999"
	ran := "asm_sysvec_apic_timer_interrupt do_syscall_64 entry_SYSCALL_64_after_hwframe ksys_read vfs_read"
	checkKernel(t, "read", p, waits, ran)

	var pb, doc bytes.Buffer
	if err := WritePprof(&pb, p, PprofOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&doc, p); err != nil {
		t.Fatal(err)
	}
	for name, written := range map[string]io.Reader{"pprof": &pb, "JSON": &doc} {
		again, err := read(written)
		if err != nil {
			t.Fatal(err)
		}
		checkKernel(t, "read, written as "+name+" and read again", again, waits, ran)
	}
}

// checkKernel compares the frames of the kernel in which a thread waits, and those in which it ran.
func checkKernel(t *testing.T, name string, p *profile.Profile, waits, ran string) {
	t.Helper()
	var waiting, running []string
	for i := range p.Frames {
		switch f := &p.Frames[i]; {
		case f.Waits():
			waiting = append(waiting, f.Func)
		case f.Kind == profile.Kernel:
			running = append(running, f.Func)
		}
	}
	slices.Sort(waiting)
	slices.Sort(running)
	if got := strings.Join(waiting, " "); got != waits {
		t.Errorf("%s: waits are %q, want %q", name, got, waits)
	}
	if got := strings.Join(running, " "); got != ran {
		t.Errorf("%s: functions of the kernel are %q, want %q", name, got, ran)
	}
}

func TestReadFoldedFails(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, tt := range []struct {
		name string
		in   io.Reader
		want string
	}{
		{"nothing", strings.NewReader(""),
			"read folded: no line is understood: expected frames joined by ';', a space and a number"},
		{"text", strings.NewReader("\nhello\nworld\n"),
			`read folded: no line is understood: expected frames joined by ';', ` +
				`a space and a number; line 2 is "hello"`},
		{"a reader that fails", io.MultiReader(strings.NewReader("a 1\n"), iotest.ErrReader(broken)),
			"read folded: disk on fire"},
		{"compressed data that were cut", io.MultiReader(strings.NewReader("a 1\n"),
			iotest.ErrReader(io.ErrUnexpectedEOF)),
			"read folded: unexpected EOF"},
		{"sum of 64 bits", strings.NewReader("a 9223372036854775807\nb 1\n"),
			"read folded: values add up to more than 63 bits"},
		{"line of 64 MiB", &endless{left: maxFoldedLine + 2*foldedBlockSize},
			"read folded: a line is longer than 64 MiB"},
	} {
		p, _, err := ReadFolded(tt.in)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, %v, want %q", tt.name, p, err, tt.want)
		}
	}
}

// endless gives one letter many times.
type endless struct{ left int }

func (e *endless) Read(buf []byte) (int, error) {
	n := min(len(buf), e.left)
	if n == 0 {
		return 0, io.EOF
	}
	for i := range buf[:n] {
		buf[i] = 'a'
	}
	e.left -= n
	return n, nil
}

// Blocks are cut between lines wherever those end, and the order in which workers finish
// does not show.
func TestReadFoldedInBlocks(t *testing.T) {
	var in strings.Builder
	want := map[string]int64{}
	name := strings.Repeat("long_name_", 100)
	for i := 0; in.Len() < 3*foldedBlockSize; i++ {
		stack := "main;" + name[:i%997+1] + ";" + name[:i%13+1]
		want[strings.ReplaceAll(stack, ";", "|")] += int64(i % 7)
		in.WriteString(stack + " " + string(rune('0'+i%7)) + "\n")
	}
	first, _, err := ReadFolded(strings.NewReader(in.String()))
	if err != nil {
		t.Fatal(err)
	}
	got := sums(first)
	for stack, v := range want {
		if v != 0 && (len(got[stack]) != 1 || got[stack][0] != v) {
			t.Fatalf("stack %.40q: got %v, want %d", stack, got[stack], v)
		}
	}
	second, _, err := ReadFolded(strings.NewReader(in.String()))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.Frames, second.Frames) || !slices.Equal(first.Samples, second.Samples) ||
		!slices.Equal(first.Values, second.Values) {
		t.Error("the same input gave two profiles")
	}
}

// Text of which most lines are not understood is something else.
func TestReadFoldedRefusesOtherText(t *testing.T) {
	for in, want := range map[string]string{
		"a 1\nb\nc\n": "2 of 3 lines are not understood: expected frames joined by ';', a " +
			"space and a number; line 2 is \"b\"",
		"a 1\nb\n":                               "",
		strings.Repeat("a\nb 1\n", 1000):         "",
		strings.Repeat("a\nb 1\n", 1000) + "c\n": "1001 of 2001 lines are not understood",
	} {
		_, report, err := ReadFolded(strings.NewReader(in))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.20q: got %v, %+v, want %q", in, err, report, want)
		}
	}
}

// What perf and others write is read as it was: where in the kernel a thread waits is no code that ran.
func TestReadFoldedKernelWaits(t *testing.T) {
	const text = "a;futex_[k];do_futex_[k];futex_do_wait_[k] 3\na;read;ksys_read_[k];do_futex_[k] 4\na;read_[k] 5\n"
	p, _, err := ReadFolded(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	waits := map[int64]bool{}
	for i, s := range p.Samples {
		waits[p.Value(i)[0]] = p.Frames[p.Tree.Frame(s.Stack)].Waits()
	}
	if want := map[int64]bool{3: true, 4: false, 5: true}; !maps.Equal(waits, want) {
		t.Errorf("stacks that wait, by their value: %v, want %v", waits, want)
	}
	var out bytes.Buffer
	if err := WriteFolded(&out, p, FoldedOptions{}); err != nil || out.String() != text {
		t.Errorf("written again: %q, %v", out.String(), err)
	}
}
