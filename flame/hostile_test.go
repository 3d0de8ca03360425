package flame

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/profile"
)

// rawPprof is in as bytes that are not compressed.
func rawPprof(t testing.TB, in *pprof.Profile) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := in.WriteUncompressed(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// grown is how many bytes do allocates in all, whether they are kept or not.
func grown(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Two labels may name one thread; which of them counts must not depend on the order of a map.
func TestReadPprofLabelsThatContradict(t *testing.T) {
	one := func(labels map[string][]string, numbers map[string][]int64) *pprof.Profile {
		return &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}},
			Sample: []*pprof.Sample{{Value: []int64{1}, Label: labels, NumLabel: numbers}}}
	}
	for _, tt := range []struct {
		name    string
		labels  map[string][]string
		numbers map[string][]int64
		want    profile.Task
	}{
		{"names of threads", map[string][]string{"thread": {"ours"}, "thread name": {"theirs"}}, nil,
			profile.Task{Thread: "ours"}},
		{"ids as text", map[string][]string{"thread_id": {"1"}, "thread id": {"2"}}, nil, profile.Task{TID: 1}},
		{"the first is no id", map[string][]string{"thread_id": {"x"}, "thread id": {"2"}}, nil, profile.Task{TID: 2}},
		{"ids as numbers", nil, map[string][]int64{"thread_id": {1}, "thread id": {2}, "tid": {3}, "pid": {4},
			"process_id": {5}}, profile.Task{TID: 1, PID: 5}},
		{"text and number", map[string][]string{"thread_id": {"1"}}, map[string][]int64{"tid": {3}},
			profile.Task{TID: 1}},
	} {
		data := rawPprof(t, one(tt.labels, tt.numbers))
		for range 50 {
			p, err := read(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Tasks) != 1 || p.Tasks[0] != tt.want {
				t.Fatalf("%s: got %+v, want %+v", tt.name, p.Tasks, tt.want)
			}
		}
	}
}

// A comment may be two bytes that become a string and a number.
func TestWeighNumbers(t *testing.T) {
	data := bytes.Repeat([]byte{13 << 3, 0}, 1000)
	weight, err := weigh(data)
	if err != nil {
		t.Fatal(err)
	}
	if least := int64(1000 * (8 + 16)); weight < least {
		t.Errorf("a thousand comments weigh %d bytes, want at least %d", weight, least)
	}
}

// A stack of 20,000 times a place that 20,000 functions were inlined into has 400,000,000 frames in 200 kB.
func TestReadPprofManyLines(t *testing.T) {
	const n = 20_000
	f := &pprof.Function{ID: 1, Name: "f"}
	at := &pprof.Location{ID: 1, Line: make([]pprof.Line, n)}
	for i := range at.Line {
		at.Line[i].Function = f
	}
	s := &pprof.Sample{Value: []int64{1}, Location: make([]*pprof.Location, n)}
	for i := range s.Location {
		s.Location[i] = at
	}
	data := rawPprof(t, &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}},
		Function: []*pprof.Function{f}, Location: []*pprof.Location{at}, Sample: []*pprof.Sample{s}})
	if p, err := read(bytes.NewReader(data)); err == nil || !strings.Contains(err.Error(), "frames") {
		t.Errorf("%d bytes with %d frames: got %d stacks, %v", len(data), n*n, p.Tree.Len(), err)
	}
}

// inlinedChain has depth functions, each inlined into the one before, and a sample in each.
func inlinedChain(depth int) *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount)
	f := b.Frame(profile.Frame{Func: "f", Inlined: true, Module: -1})
	n := profile.NodeID(0)
	for range depth {
		n = b.Child(n, f)
		b.Add(n, -1, 1)
	}
	return b.Profile()
}

func TestReadPprofManyNodes(t *testing.T) {
	f := &pprof.Function{ID: 1, Name: "f"}
	at := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f}, {Function: f}, {Function: f}}}
	in := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}},
		Function: []*pprof.Function{f},
		Location: []*pprof.Location{at},
		Sample:   []*pprof.Sample{{Value: []int64{1}, Location: []*pprof.Location{at, at}}}}
	for nodes, fits := range map[int]bool{7: true, 6: false} { // six frames and the root
		r := newPprofReader(in)
		r.nodes = nodes
		if _, err := r.read(); (err == nil) != fits {
			t.Errorf("room for %d nodes: got %v, want success %t", nodes, err, fits)
		}
	}
}

// What a small compressed file may blow up to is bounded.
func TestReadFoldedBounds(t *testing.T) {
	const text = "a;b;c 1\na;bb;ccc 2\n" // five names, eight bytes, five nodes and the root
	for _, tt := range []struct {
		bounds foldedBounds
		want   string
	}{
		{foldedBounds{5, 8, 6}, ""},
		{foldedBounds{4, 8, 6}, "read folded: more than 4 different names"},
		{foldedBounds{5, 7, 6}, "read folded: different names have more than 7 bytes"},
		{foldedBounds{9, 99, 6}, ""},
	} {
		p, _, err := readFolded(strings.NewReader(text), tt.bounds)
		if err == nil != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%+v: got %v, %v, want %q", tt.bounds, p, err, tt.want)
		}
	}
}

// Of more stacks than are kept the rare ones are joined, the sums of what stays are right, and it is said.
func TestReadFoldedThinsOut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	common, sum := 0, 0
	for i := range 300_000 {
		if i%3 == 0 {
			common += 5
			text.WriteString("main;common;leaf 5\n")
		}
		fmt.Fprintf(&text, "main;rare%d;f%d;g%d 0.5\n", r.IntN(20), r.IntN(1000), r.IntN(1000))
		sum++
	}
	p, report, err := readFolded(strings.NewReader(text.String()),
		foldedBounds{1 << 20, 1 << 20, 5000})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if report.Joined < 100_000 || p.Tree.Len() > 5000 || !slices.Contains(p.Comments, report.JoinedNote()) {
		t.Errorf("%d nodes, %d stacks joined, comments %q", p.Tree.Len(), report.Joined, p.Comments)
	}
	var out bytes.Buffer
	if err := WriteFolded(&out, p, FoldedOptions{Type: -1}); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("main;common;leaf %d\n", 10*common); !strings.Contains(out.String(), want) {
		t.Errorf("not %q in %.300s", want, out.String())
	}
	if got, want := lineSum(t, out.String()), int64(10*common+5*sum); got != want {
		t.Errorf("sum %d, want %d", got, want)
	}
	if !strings.Contains(out.String(), ";(smaller) ") {
		t.Errorf("nothing is joined: %.300s", out.String())
	}
}

func TestReadFoldedDeepLine(t *testing.T) {
	deep := strings.Repeat("a;", maxFoldedDepth-1) + "a"
	p, report, err := ReadFolded(strings.NewReader(deep + " 1\n" + deep + ";a 1\nb 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if report.Lines != 2 || report.Skipped != 1 || report.Number != 2 || p.Tree.Len() != maxFoldedDepth+2 {
		t.Errorf("%d lines, %d skipped, the first is line %d, %d nodes: want 2, 1, line 2, %d nodes",
			report.Lines, report.Skipped, report.Number, p.Tree.Len(), maxFoldedDepth+2)
	}
}

func TestReadJSONNumbers(t *testing.T) {
	doc := asJSON(t, sampled())
	n := 0
	for _, column := range strings.Split(string(doc[bytes.Index(doc, []byte(`"stacks"`)):]), "[")[1:] {
		list, _, _ := strings.Cut(column, "]")
		n += len(strings.Split(list, ","))
	}
	if _, err := readJSON(bytes.NewReader(doc), n-100); err == nil || !strings.Contains(err.Error(), "numbers") {
		t.Errorf("room for a hundred numbers less than there are: got %v", err)
	}
	if _, err := readJSON(bytes.NewReader(doc), n+100); err != nil {
		t.Error(err)
	}
}

// Lines of Locations are not shared: a chain of inlined functions that is sampled everywhere takes the square.
func TestPprofManyLines(t *testing.T) {
	b := newPprofBuilder(inlinedChain(100), PprofOptions{})
	b.lines = 5050 - 1 // 1 + 2 + … + 100 are needed
	if err := b.write(io.Discard, b.samples()); err == nil {
		t.Error("more lines than there is room for: no error")
	}
	b = newPprofBuilder(inlinedChain(100), PprofOptions{})
	b.lines = 5050
	if err := b.write(io.Discard, b.samples()); err != nil {
		t.Error(err)
	}
}

// protobuf's string is UTF-8; readers in other languages refuse a file with another one.
// Source: protobuf.dev/programming-guides/proto3, "scalar value types".
func TestPprofStringsAreUTF8(t *testing.T) {
	bad := "\xff\x01"
	b := profile.NewBuilder(profile.ValueType{Type: bad, Unit: bad})
	p := b.Profile()
	p.PeriodType = profile.ValueType{Type: bad, Unit: bad}
	p.Command, p.Comments = []string{bad}, []string{bad}
	p.Modules = []profile.Module{{Path: bad, BuildID: bad}}
	f := b.Frame(profile.Frame{Func: bad, Linkage: bad + bad, File: bad, Module: 0})
	b.Add(b.Child(0, f), b.Task(profile.Task{Process: bad, Thread: bad}), 1)
	_, out := asPprof(t, p, PprofOptions{})
	data := rawPprof(t, out)
	for len(data) > 0 {
		tag, whole, body, err := nextField(data)
		if err != nil {
			t.Fatal(err)
		}
		if tag == 6<<3|2 && !utf8.Valid(body) { // string_table
			t.Errorf("string %q is no UTF-8", body)
		}
		data = data[len(whole):]
	}
}

// A name of a megabyte that is in the file once shall not be in memory once for each of its users.
func TestLongNamesAreKeptOnce(t *testing.T) {
	const size, files = 1 << 20, 200
	name := strings.Repeat("ä", size/2)
	b := profile.NewBuilder(profile.SamplesCount)
	for i := range files {
		f := b.Frame(profile.Frame{Func: name, File: fmt.Sprint(i), Module: -1})
		b.Add(b.Child(0, f), b.Task(profile.Task{Thread: name, TID: i + 1}), 1)
	}
	p := b.Profile()
	if got := grown(func() {
		if err := WritePprof(io.Discard, p, PprofOptions{}); err != nil {
			t.Error(err)
		}
	}); got > 40*size {
		t.Errorf("%d MiB for one name of 1 MiB", got>>20)
	}
}

// An error is a line for a person, however long what it quotes is.
func TestReadJSONErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, doc := range []string{
		`{"schema":"fpstack.profile/1","` + long + `":1,"` + long + `":2}`,
		`{"schema":"fpstack.profile/1","frames":[{"kind":"` + long + `"}]}`,
		`{"schema":"fpstack.profile/1"} "` + long + `"`,
		`{"schema":"fpstack.profile/1","types":"` + long + `"}`,
		`{"schema":"fpstack.profile/1","` + long + `":x}`,
	} {
		if _, err := ReadJSON(strings.NewReader(doc)); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%.60s…: an error of %d bytes, want a short one", doc, len(fmt.Sprint(err)))
		}
	}
}
