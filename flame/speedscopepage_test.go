package flame

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// scopeDoc is a file that speedscope opens, and what its page must show of it.
type scopeDoc struct {
	Name     string          `json:"name"`
	File     string          `json:"file"`
	Profiles []scopeFunction `json:"profiles"`
	Seconds  int             `json:"seconds,omitempty"` // from the request until it is drawn
	Shown    string          `json:"shown,omitempty"`
}

type scopeFunction struct {
	Name      string        `json:"name"`
	Functions []profile.Hot `json:"functions"`
}

// ofTask returns p with the samples of one task alone.
func ofTask(p *profile.Profile, task int) *profile.Profile {
	one := *p
	one.Samples, one.Values = nil, nil
	for i, s := range p.Samples {
		if s.Task == task {
			one.Samples, one.Values = append(one.Samples, s), append(one.Values, p.Value(i)...)
		}
	}
	return &one
}

// wide has 100,000 stacks, about 17 frames each, of 8,000 functions.
func wide() *profile.Profile {
	r := rand.New(rand.NewPCG(1, 2))
	b := profile.NewBuilder(profile.SamplesCount)
	at := []profile.NodeID{b.Child(0, b.Frame(profile.Frame{Func: "main", Module: -1}))}
	for n := 0; n < 100_000; {
		stack := at[r.IntN(len(at))]
		for range 1 + r.IntN(6) {
			stack = b.Child(stack,
				b.Frame(profile.Frame{Func: fmt.Sprintf("library::module_%d::function_%d", r.IntN(20),
					r.IntN(400)), Module: -1}))
		}
		if b.Profile().Tree.Depth(stack) < 18 && len(at) < 20_000 {
			at = append(at, stack)
		}
		b.Add(stack, -1, int64(1+r.IntN(50)))
		n = len(b.Profile().Samples)
	}
	return b.Profile()
}

// scopeDocs writes what is opened.
func scopeDocs(t *testing.T, dir string) {
	t.Helper()
	var docs []scopeDoc
	add := func(doc scopeDoc, p *profile.Profile, opt SpeedscopeOptions) {
		var out bytes.Buffer
		if err := WriteSpeedscope(&out, p, opt); err != nil {
			t.Fatal(err)
		}
		doc.File = strings.ReplaceAll(doc.Name, " ", "-") + ".speedscope.json"
		if err := os.WriteFile(filepath.Join(dir, doc.File), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", doc.Name, out.Len())
		docs = append(docs, doc)
	}
	p := sampled()
	for _, value := range []int{0, 1} { // cpu has one function of 40 ms twice, and no runs
		doc := scopeDoc{Name: "sampled " + p.Types[value].Type,
			Profiles: []scopeFunction{{"all threads", profile.Hottest(p, value)}}}
		for task, name := range []string{"app 4121", "io one 4122"} {
			doc.Profiles = append(doc.Profiles, scopeFunction{name, profile.Hottest(ofTask(p, task), value)})
		}
		add(doc, p, SpeedscopeOptions{Type: value})
	}
	recursive, _, err := ReadFolded(strings.NewReader("main;f;g;f 5\nmain;f 2\nmain;g;f 3\nmain;g 1\n" +
		"start;<b>&amp;\"\\;ns::f<char>(int)_[i] 1234567\n"))
	if err != nil {
		t.Fatal(err)
	}
	add(scopeDoc{Name: "recursion and names", Profiles: []scopeFunction{{"", profile.Hottest(recursive, 0)}}},
		recursive,
		SpeedscopeOptions{})
	add(scopeDoc{Name: "100,000 stacks", Seconds: 5, Shown: "all threads"}, wide(), SpeedscopeOptions{})
	want, err := json.Marshal(docs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "want.json"), want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSpeedscopeInChromium opens files in speedscope's own page. The table of its sandwich view must be that of
// profile.Hottest.
func TestSpeedscopeInChromium(t *testing.T) {
	if os.Getenv("FPSTACK_BROWSER") == "" {
		t.Skip("a browser is driven in a step of its own: scripts/browser-test")
	}
	if _, err := os.Stat("page/browser/node_modules/speedscope"); err != nil {
		t.Fatal("speedscope is not installed: run scripts/browser-test")
	}
	dir := t.TempDir()
	scopeDocs(t, dir)
	cmd := exec.Command("node", "page/browser/speedscope.mjs", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	checks := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		name, failed := strings.CutPrefix(line, "not ok ")
		name, passed := strings.CutPrefix(name, "ok ")
		if !failed && !passed {
			t.Log(line)
			continue
		}
		checks++
		name, why, _ := strings.Cut(name, ": ")
		t.Run(name, func(t *testing.T) {
			if failed {
				t.Error(why)
			}
		})
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("node page/browser/speedscope.mjs: %v\n%s", err, stderr.Bytes())
	}
	if checks != 4 {
		t.Errorf("%d checks ran, want 4", checks)
	}
}
