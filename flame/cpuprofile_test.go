package flame

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestCPUProfileOfNode reads what node --cpu-prof wrote: every sample is counted, and their times are those between the
// first one and the end.
func TestCPUProfileOfNode(t *testing.T) {
	data, err := os.ReadFile("testdata/node.cpuprofile")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Samples            []int
		TimeDeltas         []int64
		StartTime, EndTime int64
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{data, gzipped(t, data)} {
		p, err := read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		checkValid(t, p)
		totals := p.Totals()
		if wall := 1000 * (doc.EndTime - doc.StartTime - doc.TimeDeltas[0]); totals[0] != int64(len(doc.Samples)) ||
			totals[1] != wall {
			t.Errorf("totals %v, want %d samples and %d ns", totals, len(doc.Samples), wall)
		}
		found := map[string]profile.Frame{}
		for _, f := range p.Frames {
			found[f.Func] = f
		}
		if f := found["fib"]; f.File != "/srv/app/w.js" || f.Line != 2 || f.Kind != profile.JIT {
			t.Errorf("fib: %+v", f)
		}
		idle := found["(idle)"]
		if _, root := found["(root)"]; root || !idle.Waits() {
			t.Errorf("the root is a frame: %v; idle: %+v", root, idle)
		}
		if text := folded(t, p, FoldedOptions{}); !strings.Contains(text, ";run;fib;fib;fib;fib") {
			t.Errorf("got\n%s", text)
		}
	}
}

const smallCPUProfile = `{"startTime":10,"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},` +
	`{"id":2,"callFrame":{"functionName":"f","url":"file:///a.js","lineNumber":0}}],` +
	`"endTime":40,"more":[{}],"samples":[2,2],"timeDeltas":[5,10]}`

func TestCPUProfileForms(t *testing.T) {
	p, err := read(strings.NewReader(smallCPUProfile))
	if err != nil {
		t.Fatal(err)
	}
	if got := folded(t, p, FoldedOptions{Type: 1}); got != "f 25000\n" || p.Duration != 30_000 ||
		p.Frames[0].Line != 1 {
		t.Errorf("got %q, %v", got, p.Duration)
	}
	for _, tt := range []struct{ name, old, new, want string }{
		{"a child of two", `"lineNumber":0}}`, `"lineNumber":0},"children":[2]}`, "has a child 2"},
		{"a circle", `"children":[2]`, `"children":[1]`, "in a circle"},
		{"a child that is not there", `"children":[2]`, `"children":[3]`, "has a child 3"},
		{"one id twice", `"id":2`, `"id":1`, "node 1 comes twice"},
		{"a sample of no node", `"samples":[2,2]`, `"samples":[2,9]`, "node 9, which is not there"},
		{"fewer times", `[5,10]`, `[5]`, "2 samples and 1 timeDeltas"},
		{"times beyond 63 bits", `[5,10]`, `[5,9223372036854775807]`, "63 bits"},
		{"end before the begin", `"endTime":40`, `"endTime":1`, ""},
		{"a member that comes twice", `"startTime":10,`, `"startTime":10,"startTime":10,`, "comes twice"},
		{"no samples", `"samples":[2,2],"timeDeltas":[5,10]`, `"samples":[],"timeDeltas":[]`,
			"not a CPU profile of V8"},
		{"nodes are no list", `"nodes":[`, `"nodes":{},"x":[`, "where [ is wanted"},
		{"cut", `[5,10]}`, `[5,10]`, "EOF"},
		{"cut in a list", `10]}`, ``, "EOF"},
		{"more behind the end", `10]}`, `10]}{}`, "expected the end"},
		{"a name that is none", `"functionName":"f"`, `"functionName":7`, "nodes"},
	} {
		text := strings.Replace(smallCPUProfile, tt.old, tt.new, 1)
		p, err := read(strings.NewReader(text))
		if text == smallCPUProfile || (err == nil) != (tt.want == "") || err != nil &&
			(p != nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Few bytes of a hostile document do not take much memory, nor does a deep tree take long.
func TestCPUProfileIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := read(strings.NewReader(`{"nodes":[` + strings.Repeat("{},", maxCPUProfileNodes+1))); err == nil ||
		!strings.Contains(err.Error(), "more than 4194304 elements") {
		t.Errorf("many nodes: %v", err)
	}
	list := `{"nodes":[{"id":1,"children":[` + strings.Repeat("1,", maxCPUProfileElement) + "1]}]}"
	if _, err := read(strings.NewReader(list)); err == nil ||
		!strings.Contains(err.Error(), "an element of more than") {
		t.Errorf("many children: %v", err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.Sys - before.Sys; grown > 3<<30 {
		t.Errorf("it took %d MiB", grown>>20)
	}
}
