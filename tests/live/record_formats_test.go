//go:build linux

package live

import (
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRecordFormats: of ten threads seven are in work_a and three in work_b_, and so it is seen
// in every format, by that format's own reader or by its specification. They sleep, so that what else the
// machine does changes no share.
func TestRecordFormats(t *testing.T) {
	t.Parallel()
	p := runTarget(t, "parks", "7", "3")
	for _, tt := range []struct {
		file string
		args []string
		read func(t *testing.T, path string) map[string]float64 // self time by function
	}{
		{"out.folded", nil, foldedFile},
		{"out.txt", nil, foldedFile},
		{"out.pb.gz", nil, pprofFile},
		{"out.pprof", nil, pprofFile},
		{"out.pb", nil, pprofFile},
		{"out.svg", nil, svgFile},
		{"out.html", nil, htmlFile},
		{"out.speedscope.json", nil, speedscopeFile},
		{"out.json", nil, jsonFile},
		{"out", []string{"-f", "folded"}, foldedFile},
		{"out", []string{"-f", "pprof"}, pprofFile},
	} {
		t.Run(strings.Join(append([]string{tt.file}, tt.args...), " "), func(t *testing.T) {
			path := filepath.Join(room(t), tt.file)
			args := append([]string{"record", "-p", strconv.Itoa(p.pid), "-d", "500ms", "-o", path}, tt.args...)
			o := show(t, args...)
			if o.status != 0 || o.stdout != "" {
				t.Fatalf("status %d, output %q\n%s", o.status, o.stdout, o.stderr)
			}
			self := tt.read(t, path)
			a, b := self["work_a"], self["work_b_"]
			if share := a / (a + b); math.IsNaN(share) || math.Abs(share-0.7) > 0.01 {
				t.Errorf("work_a has %.3f and work_b_ %.3f, a share of %.3f; want 0.7; all: %v", a, b, share, self)
			}
			checkFree(t, p.pid)
		})
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func number(t testing.TB, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// foldedLine is the grammar of flamegraph.pl, without fractions.
var foldedLine = regexp.MustCompile(`^(.+) ([1-9][0-9]*)$`)

// foldedSelf sums folded text by innermost frame. grind is inlined into each of the works, so
// where it is innermost its caller counts.
func foldedSelf(t testing.TB, text string) map[string]float64 {
	t.Helper()
	self := map[string]float64{}
	for line := range strings.Lines(text) {
		m := foldedLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("no folded line: %q", line)
		}
		addSelf(self, strings.Split(m[1], ";"), number(t, m[2]))
	}
	return self
}

// addSelf adds v to the innermost work on a stack, outermost frame first, or to its leaf.
func addSelf(self map[string]float64, stack []string, v float64) {
	for _, f := range slices.Backward(stack) {
		if strings.HasPrefix(f, "work_") {
			self[f] += v
			return
		}
	}
	self[stack[len(stack)-1]] += v
}

func foldedFile(t *testing.T, path string) map[string]float64 {
	return foldedSelf(t, readFile(t, path))
}

// flatAndCum are the two columns of pprof -top, in seconds.
type flatAndCum struct{ flat, cum float64 }

var pprofRow = regexp.MustCompile(`^\s*(\S+)\s+\S+%\s+\S+%\s+(\S+)\s+\S+%\s+(.+)$`)

// pprofTop asks Go's own pprof for its table of a value of the file.
func pprofTop(t testing.TB, path, value string) map[string]flatAndCum {
	t.Helper()
	o := execute(t, bound, installed(t, "go"), "tool", "pprof", "-top", "-nodecount=1000", "-nodefraction=0",
		"-sample_index="+value, "-unit=ns", path)
	if o.status != 0 {
		t.Fatalf("go tool pprof: status %d\n%s", o.status, o.stderr)
	}
	top := map[string]flatAndCum{}
	for line := range strings.Lines(o.stdout) {
		if m := pprofRow.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil && strings.HasPrefix(m[2], "0") ||
			m != nil && m[2] != "cum" {
			name := strings.TrimSuffix(m[3], " (inline)")
			top[name] = flatAndCum{nanoseconds(t, m[1]), nanoseconds(t, m[2])}
		}
	}
	return top
}

func nanoseconds(t testing.TB, s string) float64 {
	t.Helper()
	return number(t, strings.TrimSuffix(s, "ns")) / 1e9
}

// pprofFile takes the cumulative column: grind is a function of its own below the works.
func pprofFile(t *testing.T, path string) map[string]float64 {
	self := map[string]float64{}
	for name, v := range pprofTop(t, path, "wall") {
		self[name] = v.cum
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := gzip.NewReader(f); err != nil {
		t.Errorf("not compressed: %v", err)
	}
	return self
}

// frameTitle is the tip of a frame: its name and its share.
var frameTitle = regexp.MustCompile(`(?s)^(work_\w+).*?([0-9.]+)\s?%`)

// svgFile reads the tips of the picture, which must be XML.
func svgFile(t *testing.T, path string) map[string]float64 { return titles(t, readFile(t, path), true) }

// titles sums the shares in the title elements of an XML text; if it is not whole XML, it is
// HTML, whose tags need not end.
func titles(t *testing.T, text string, whole bool) map[string]float64 {
	t.Helper()
	self, root := map[string]float64{}, ""
	d := xml.NewDecoder(strings.NewReader(text))
	if !whole {
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if root == "" {
			root = e.Name.Local
		}
		if e.Name.Local == "title" {
			var tip string
			if err := d.DecodeElement(&tip, &e); err != nil {
				t.Fatalf("not XML: %v", err)
			}
			if m := frameTitle.FindStringSubmatch(tip); m != nil {
				self[m[1]] += number(t, m[2])
			}
		}
	}
	if whole && root != "svg" {
		t.Errorf("root element %q, want svg", root)
	}
	return self
}

// htmlFile reads the static picture of the page.
func htmlFile(t *testing.T, path string) map[string]float64 {
	text := readFile(t, path)
	if !strings.HasPrefix(strings.ToLower(text), "<!doctype html>") || !strings.HasSuffix(strings.TrimSpace(text),
		"</html>") {
		t.Errorf("no whole page: %.40q … %q", text, text[max(0, len(text)-40):])
	}
	_, picture, ok := strings.Cut(text, "<svg")
	picture, _, ok2 := strings.Cut(picture, "</svg>")
	if !ok || !ok2 {
		t.Fatal("the page has no picture that needs no script")
	}
	return titles(t, "<svg"+picture+"</svg>", true)
}

// speedscopeFile sums the profile of all threads, which is the first, by
// https://www.speedscope.app/file-format-schema.json.
func speedscopeFile(t *testing.T, path string) map[string]float64 {
	return speedscopeSums(t, path, "nanoseconds")
}

func speedscopeSums(t *testing.T, path, unit string) map[string]float64 {
	t.Helper()
	var doc struct {
		Schema   string `json:"$schema"`
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Type, Name, Unit string
			Samples          [][]int
			Weights          []float64
			StartValue       *float64
			EndValue         *float64
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, path)), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != "https://www.speedscope.app/file-format-schema.json" || len(doc.Profiles) == 0 {
		t.Fatalf("schema %q, %d profiles", doc.Schema, len(doc.Profiles))
	}
	p, self := doc.Profiles[0], map[string]float64{}
	if p.Type != "sampled" || p.Unit != unit || p.StartValue == nil || p.EndValue == nil ||
		len(p.Samples) != len(p.Weights) {
		t.Errorf("profile of type %q in %q with %d samples and %d weights", p.Type, p.Unit, len(p.Samples),
			len(p.Weights))
	}
	for i, sample := range p.Samples {
		var stack []string
		for _, f := range sample {
			stack = append(stack, doc.Shared.Frames[f].Name)
		}
		addSelf(self, stack, p.Weights[i])
	}
	return self
}

// jsonFile takes the way through fpstack flame, which must understand our own JSON.
func jsonFile(t *testing.T, path string) map[string]float64 {
	if text := readFile(t, path); !json.Valid([]byte(text)) || !strings.Contains(text, `"fpstack.profile/1"`) {
		t.Errorf("no JSON document of ours: %.200q", text)
	}
	o := show(t, "flame", path, "-f", "folded")
	if o.status != 0 {
		t.Fatalf("fpstack flame: status %d\n%s", o.status, o.stderr)
	}
	return foldedSelf(t, o.stdout)
}
