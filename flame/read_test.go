package flame

import (
	"bytes"
	"compress/gzip"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	pprof "github.com/google/pprof/profile"
)

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReadTellsFormatsApart(t *testing.T) {
	p := sampled()
	proto, parsed := asPprof(t, p, PprofOptions{})
	var raw bytes.Buffer
	if err := parsed.WriteUncompressed(&raw); err != nil {
		t.Fatal(err)
	}
	text, doc := []byte(folded(t, p, FoldedOptions{})), asJSON(t, p)
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"folded", text}, {"folded, compressed", gzipped(t, text)},
		{"folded behind blank lines", append([]byte("\n\n"), text...)},
		{"pprof", proto}, {"pprof, not compressed", raw.Bytes()},
		{"JSON", doc}, {"JSON, compressed", gzipped(t, doc)},
		{"JSON behind white space", append([]byte(" \n\t"), doc...)},
	} {
		got, err := read(iotest.HalfReader(bytes.NewReader(tt.data)))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		checkValid(t, got)
		if again := folded(t, got, FoldedOptions{Type: got.TypeIndex("samples")}); again != string(text) {
			t.Errorf("%s: got\n%swant\n%s", tt.name, again, text)
		}
	}
}

func TestReadFails(t *testing.T) {
	const want = "read profile: expected folded stacks, text of perf script, a profile of pprof, a .cpuprofile or " +
		"fpstack.profile/1 JSON: found "
	elf, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		elf = []byte("\x7fELF\x02\x01\x01\x00")
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, want + "nothing"},
		{"white space", []byte(" \n"), want + "nothing"},
		{"perf.data", []byte("PERFILE2\x68\x00"), want + "a recording of perf"},
		{"a program", elf[:64], want + "a program"},
		{"a flame graph", []byte("<?xml version=\"1.0\"?><svg>"), want + "a page or picture"},
		{"JSON of another program", []byte(`{"$schema":"https://www.speedscope.app/file-format-schema.json"}`),
			"read JSON: not a fpstack.profile/1 document"},
		{"a dump of ours", []byte(`{"schema":"fpstack.dump/1","process":{}}`), want + "a dump: fpstack FILE"},
		{"a dump of ours in one line", []byte(`{ "schema" : "fpstack.dump/2"}`), want + "a dump: fpstack FILE"},
		{"what --save wrote", []byte("fpstack snapshot 1\nH\x02\x00\x00\x00{}"), want + "a saved dump: fpstack"},
		{"a trace", []byte(`[{"ph":"B"}]`), want + "JSON of another program"},
		{"text", []byte("hello world\n"), "read folded: no line is understood"},
		{"zstd", []byte("\x28\xb5\x2f\xfd\x00"), want + "a file compressed by zstd"},
		{"gzip that was cut in its heading", []byte("\x1f\x8b\x08"), "read profile: unexpected EOF"},
		{"folded, compressed and cut", gzipped(t, bytes.Repeat([]byte("a;b 1\nc;d 2\n"), 5000))[:60], "unexpected EOF"},
		{"JSON, compressed and cut", gzipped(t, asJSON(t, sampled()))[:400], "unexpected EOF"},
		{"gzip in gzip", gzipped(t, gzipped(t, []byte("a 1\n"))), "no line is understood"},
	} {
		p, err := read(bytes.NewReader(tt.data))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, %v, want %q", tt.name, p, err, tt.want)
		}
	}
}

// readable are small files of each format that Read takes.
func readable(f *testing.F) [][]byte {
	f.Helper()
	p := sampled()
	var proto, raw, doc bytes.Buffer
	if err := WritePprof(&proto, p, PprofOptions{}); err != nil {
		f.Fatal(err)
	}
	parsed, err := pprof.ParseData(proto.Bytes())
	if err != nil {
		f.Fatal(err)
	}
	if err := parsed.WriteUncompressed(&raw); err != nil {
		f.Fatal(err)
	}
	if err := WriteJSON(&doc, p); err != nil {
		f.Fatal(err)
	}
	return [][]byte{
		proto.Bytes(), raw.Bytes(), doc.Bytes(), []byte("a;b 1\nc_[k] 2.5\r\n"), []byte("a;b 1 2\nc 3 4\n"),
		[]byte("a;b;; 1 2\n\xff 1\n"),
		[]byte("a b 1/3 [001] 1.000001: 7 cycles:u:\n\t 7f01 f+0x1 (/x.so)\n\t 8 g ([kernel.kallsyms])\n\n"),
		[]byte(smallCPUProfile)}
}

// FuzzRead holds that a reader gives a consistent profile or an error, and that each writer takes
// what a reader gave.
func FuzzRead(f *testing.F) {
	for _, seed := range readable(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := read(bytes.NewReader(data))
		if err != nil {
			if p != nil {
				t.Fatal("a result and an error: ", err)
			}
			return
		}
		if err := p.CheckValid(); err != nil {
			t.Fatal(err)
		}
		first := folded(t, p, FoldedOptions{Type: -1})
		for line := range strings.Lines(first) {
			if m := perlLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m == nil ||
				perlLine.MatchString(m[1]) {
				t.Fatalf("folded line %q", line)
			}
		}
		folded(t, marked(p), FoldedOptions{Threads: true})
		back, err := ReadJSON(bytes.NewReader(asJSON(t, p)))
		if err != nil {
			t.Fatal(err)
		}
		if got := folded(t, back, FoldedOptions{Type: -1}); got != first {
			t.Fatalf("through JSON: got %q, want %q", got, first)
		}
		var out bytes.Buffer
		if err := WritePprof(&out, p, PprofOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := pprof.ParseData(out.Bytes()); err != nil {
			t.Fatal(err)
		}
		if back, err = read(&out); err != nil {
			t.Fatal(err)
		}
		if got := folded(t, back, FoldedOptions{Type: -1}); got != first && p.Totals()[p.Default] != 0 {
			t.Fatalf("through pprof: got %q, want %q", got, first)
		}
		if err := WriteSpeedscope(&out, p, SpeedscopeOptions{Type: -1}); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzReadFolded compares the reader with one that takes a line at a time.
func FuzzReadFolded(f *testing.F) {
	for _, seed := range []string{"a;b 1\na;c 2\na;b 3\n", "a;b\t1\r\n\n;;a;; 5\nx\n", "a;bb 1\na;b 1\na;bb;c 1\na 1\n",
		"a 1 2\n", "a 0.5\nb 3.\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if strings.Contains(in, ".") {
			return // fractions have rules of their own
		}
		want := map[string]int64{}
		lines, others := 0, 0
		for line := range strings.SplitSeq(in, "\n") {
			m := spacedLine.FindStringSubmatch(strings.Trim(line, " \t\r\v\f"))
			if m == nil || len(m[2]) > 15 || strings.Trim(m[1], ";") == "" {
				if m != nil && len(m[2]) > 15 {
					return
				}
				if strings.Trim(line, " \t\r\v\f") != "" {
					others++
				}
				continue
			}
			lines++
			v := int64(0)
			for _, d := range m[2] {
				v = v*10 + int64(d-'0')
			}
			if v != 0 {
				stack := strings.TrimRight(m[1], ";")
				want[strings.ReplaceAll(stack, ";", "|")] += v
			}
		}
		p, report, err := ReadFolded(strings.NewReader(in))
		if lines == 0 || others > lines {
			if err == nil {
				t.Fatalf("got %v of %d lines and %d others", p, lines, others)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if report.Lines != lines {
			t.Fatalf("%d lines, want %d", report.Lines, lines)
		}
		got := map[string]int64{}
		for i, s := range p.Samples {
			var names []string
			for n := s.Stack; n != 0; n = p.Tree.Parent(n) {
				fr := &p.Frames[p.Tree.Frame(n)]
				names = append([]string{fr.Func + markOf(fr)}, names...)
			}
			got[strings.Join(names, "|")] += p.Value(i)[0]
		}
		if len(got) != len(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for stack, v := range want {
			if got[stack] != v {
				t.Fatalf("stack %q: got %d, want %d", stack, got[stack], v)
			}
		}
	})
}

// spacedLine is a line without white space around it: stack, white space, digits.
var spacedLine = regexp.MustCompile(`(?s)^(.*?)[ \t\r\v\f]+([0-9]+)$`)
