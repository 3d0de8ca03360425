package page

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// fn is a function of the program itself.
func fn(name string) profile.Frame {
	return profile.Frame{Func: name, File: "/src/" + name + ".c", Line: 7}
}

// stacks makes a profile of one value from lines "a;b 3". A function named after a system
// call in brackets, "[read]", is a wait in the kernel.
func stacks(typ profile.ValueType, lines ...string) *profile.Profile {
	b := profile.NewBuilder(typ)
	b.Profile().Modules = []profile.Module{{Path: "/bin/prog"}}
	for _, line := range lines {
		at := strings.LastIndexByte(line, ' ')
		var value int64
		fmt.Sscan(line[at+1:], &value)
		node := profile.NodeID(0)
		for name := range strings.SplitSeq(line[:at], ";") {
			f := fn(name)
			if call, ok := strings.CutPrefix(name, "["); ok {
				f = profile.Frame{Func: strings.TrimSuffix(call, "]"), Kind: profile.Kernel, Module: -1}
			}
			node = b.Child(node, b.Frame(f))
		}
		b.Add(node, -1, value)
	}
	return b.Profile()
}

func written(t *testing.T, write func(io.Writer, *profile.Profile, Options) error, p *profile.Profile,
	opt Options) string {
	t.Helper()
	var b bytes.Buffer
	if opt.Diff != nil {
		p = opt.Diff.New
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	if err := write(&b, p, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// compared puts two profiles that have a value in common side by side.
func compared(newer, older *profile.Profile) *profile.Diff {
	d, err := profile.Compare(newer, older, profile.DiffOptions{})
	if err != nil {
		panic(err)
	}
	return d
}

// hostileProfile holds the names that would do harm, in every place where a name can be.
func hostileProfile() *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount)
	p := b.Profile()
	p.Command = []string{hostile[0], hostile[1]}
	p.Comments = hostile
	names := append([]string{strings.Repeat("long::", 1700), strings.Repeat("é漢", 2000)}, hostile...)
	for i, name := range names {
		p.Modules = append(p.Modules, profile.Module{Path: name})
		task := b.Task(profile.Task{PID: i, TID: i, Process: name, Thread: name})
		node := profile.NodeID(0)
		for _, inner := range names {
			node = b.Child(node, b.Frame(profile.Frame{Func: inner, File: name, Line: i, Module: i}))
			b.Add(node, task, int64(1+i))
		}
	}
	return p
}

func deep(rows int) *profile.Profile {
	names := make([]string, rows)
	for i := range names {
		names[i] = fmt.Sprintf("level%d", i)
	}
	return stacks(profile.SamplesCount, strings.Join(names, ";")+" 10")
}

// documents are the profiles that all forms are tried with.
func documents() map[string]struct {
	p   *profile.Profile
	opt Options
} {
	type document = struct {
		p   *profile.Profile
		opt Options
	}
	small := stacks(profile.WallTime, "main;parse;read_file;[read] 300", "main;parse 250", "main;work;hash 1000",
		"main;work;hash;hash 400", "main;work 50")
	old := stacks(profile.WallTime, "main;parse;read_file;[read] 500", "main;parse 250", "main;work;hash 500",
		"main;idle;[poll] 250")
	many := generated(2000)
	return map[string]document{
		"small":          {small, Options{Title: "small"}},
		"small-static":   {small, Options{Title: "small", Static: true, Inverted: true}},
		"diff":           {nil, Options{Title: "diff", Diff: compared(small, old)}},
		"empty":          {stacks(profile.SamplesCount), Options{}},
		"hostile":        {hostileProfile(), Options{}},
		"hostile-static": {hostileProfile(), Options{Static: true, Threads: true}},
		"threads":        {many, Options{Type: 1, Threads: true}},
		"many":           {many, Options{Type: 2, MinShare: 0.0005}},
		"deep":           {deep(2000), Options{}},
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	for name, d := range documents() {
		t.Run(name, func(t *testing.T) {
			svg := written(t, SVG, d.p, d.opt)
			dec, scripts, depth := xml.NewDecoder(strings.NewReader(svg)), 0, 0
			for {
				token, err := dec.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("not well-formed at byte %d: %v", dec.InputOffset(), err)
				}
				switch e := token.(type) {
				case xml.StartElement:
					depth++
					if e.Name.Space != "http://www.w3.org/2000/svg" {
						t.Errorf("element %v is not of SVG", e.Name)
					}
					if e.Name.Local == "script" {
						scripts++
					}
					for _, a := range e.Attr {
						if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" || a.Name.Local == "href" {
							t.Errorf("%s has the attribute %s", e.Name.Local, a.Name.Local)
						}
					}
				case xml.EndElement:
					depth--
				}
			}
			want := 1
			if d.opt.Static {
				want = 0
			}
			if scripts != want || depth != 0 {
				t.Errorf("%d scripts, %d elements left open, want %d and 0", scripts, depth, want)
			}
		})
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range hostile {
		f.Add(name, name)
	}
	f.Fuzz(func(t *testing.T, name, file string) {
		b := profile.NewBuilder(profile.SamplesCount)
		b.Add(b.Child(0, b.Frame(profile.Frame{Func: name, File: file, Line: 3, Module: -1})), -1, 1)
		b.Profile().Command = []string{name, file}
		dec := xml.NewDecoder(strings.NewReader(written(t, SVG, b.Profile(), Options{Static: true})))
		for {
			if _, err := dec.Token(); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("picture of %q in %q is not well-formed: %v", name, file, err)
			}
		}
	})
}

func TestSameBytesTwice(t *testing.T) {
	for name, d := range documents() {
		for form, write := range map[string]func(io.Writer, *profile.Profile, Options) error{"html": HTML, "svg": SVG} {
			if a, b := written(t, write, d.p, d.opt), written(t, write, d.p, d.opt); a != b {
				t.Errorf("%s of %s: two runs differ (%d and %d bytes)", form, name, len(a), len(b))
			}
		}
	}
}

// Goldens hold the static forms alone: the packed parts depend on the version of
// compress/gzip.
func TestGoldens(t *testing.T) {
	docs := documents()
	for name, write := range map[string]func(io.Writer, *profile.Profile, Options) error{"small.svg": SVG,
		"diff.svg": SVG, "small.html": HTML} {
		d := docs[strings.SplitN(name, ".", 2)[0]]
		d.opt.Static = true
		got, path := written(t, write, d.p, d.opt), "testdata/"+name
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from its golden; -update rewrites it. Got:\n%s", path, got)
		}
	}
}

// blocks splits a page into its scripts, its style, the packed script and the policy.
func blocks(t *testing.T, html string) (scripts []string, style, code, policy string) {
	t.Helper()
	one := func(expr string) string {
		m := regexp.MustCompile(expr).FindAllStringSubmatch(html, -1)
		if len(m) != 1 {
			t.Fatalf("%d matches of %s, want 1", len(m), expr)
		}
		return m[0][1]
	}
	for _, m := range regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(html, -1) {
		scripts = append(scripts, m[1])
	}
	return scripts, one(`(?s)<style>(.*?)</style>`), one(`(?s)id="code">(.*?)</script>`),
		one(`Content-Security-Policy" content="([^"]*)"`)
}

func TestPageHoldsOnlyItsOwnScript(t *testing.T) {
	html := written(t, HTML, hostileProfile(), Options{})
	scripts, style, code, policy := blocks(t, html)
	if len(scripts) != 1 {
		t.Fatalf("%d scripts in the page, want 1", len(scripts))
	}
	for _, content := range []string{scripts[0], style, string(gunzip(t, code))} {
		if !strings.Contains(policy, digest(content)) {
			t.Errorf("the policy %q lacks %s", policy, digest(content))
		}
	}
	if strings.Count(policy, "sha256-") != 3 || !strings.HasPrefix(policy, "default-src 'none'") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q: want default-src 'none' and three hashes", policy)
	}
	if n := strings.Count(strings.ToLower(html), "<script"); n != 3 {
		t.Errorf("%d script elements, want 3: the script and two packed blocks", n)
	}
	for _, bad := range []string{"<img", "<!--", "onload=alert(1)>", "\x00", "\x1b", "\u202e", "\u2028"} {
		if strings.Contains(html, bad) {
			t.Errorf("%q is in the page", bad)
		}
	}
}

func TestScriptAndStylesAreSmall(t *testing.T) {
	const budget = 42 << 10
	scripts, style, code, _ := blocks(t, written(t, HTML, deep(3), Options{}))
	if size := len(scripts[0]) + len(style) + len(code); size > budget {
		t.Errorf("script and styles take %d bytes, want at most %d", size, budget)
	}
}

func TestStaticHoldsNoScriptAndNoData(t *testing.T) {
	for form, write := range map[string]func(io.Writer, *profile.Profile, Options) error{"html": HTML, "svg": SVG} {
		got := written(t, write, deep(3), Options{Static: true})
		if strings.Contains(got, "<script") || strings.Contains(got, `id="data"`) {
			t.Errorf("static %s holds a script or data", form)
		}
		if !strings.Contains(got, "level2 (level2.c:7): 10, 100.00 %") {
			t.Errorf("static %s lacks the title of the innermost frame:\n%s", form, got)
		}
	}
}

// What is too narrow to be drawn is not left out without a word.
func TestPictureTellsWhatItDoesNotDraw(t *testing.T) {
	for lines, want := range map[string]string{
		"wide 100000|thin;a;b 10|thin2 10": "4 frames narrower than half a pixel are not drawn",
		"wide 100|thin;a;b 10|thin2 10":    "",
	} {
		got := written(t, SVG, stacks(profile.SamplesCount, strings.Split(lines, "|")...), Options{Static: true})
		if told := strings.Contains(got, "are not drawn"); told != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: told %v, want %q in %.600s", lines, told, want, got)
		}
	}
}

func TestOptionsThatDoNotFit(t *testing.T) {
	p := deep(2)
	for name, opt := range map[string]Options{
		"type behind the last": {Type: 1},
		"type below 0":         {Type: -1},
		"share above 1":        {MinShare: 2},
	} {
		if err := HTML(io.Discard, p, opt); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestAFullDiskIsTold(t *testing.T) {
	p := generated(20000)
	for form, write := range map[string]func(io.Writer, *profile.Profile, Options) error{"html": HTML, "svg": SVG} {
		for _, room := range []int{0, 70_000, 250_000} {
			if err := write(&full{room}, p, Options{}); err == nil {
				t.Errorf("%s on a disk of %d bytes: no error", form, room)
			}
		}
	}
}

// A million stacks, unless -short: how long a picture takes, for docs and the log.
func BenchmarkSVG(b *testing.B)  { benchmark(b, SVG, Options{}) }
func BenchmarkHTML(b *testing.B) { benchmark(b, HTML, Options{}) }
func BenchmarkHTMLOfEverything(b *testing.B) {
	benchmark(b, HTML, Options{All: true})
}

func benchmark(b *testing.B, write func(io.Writer, *profile.Profile, Options) error, opt Options) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		if n > 100_000 && testing.Short() {
			continue
		}
		p := folded(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				size := counter(0)
				begin := time.Now()
				if err := write(&size, p, opt); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(size)/1e6, "MB")
				b.ReportMetric(time.Since(begin).Seconds()*1e9/float64(p.Tree.Len()), "ns/node")
			}
		})
	}
}

type counter int

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

// folded is generated(stacks) as it comes out of a folded file: names alone, one value.
func folded(n int) *profile.Profile {
	from := generated(n)
	b := profile.NewBuilder(profile.SamplesCount)
	p := b.Profile()
	ids := make([]profile.FrameID, len(from.Frames))
	for i, f := range from.Frames {
		ids[i] = b.Frame(profile.Frame{Func: f.Func + from.Frames[i].Kind.String(), Module: -1})
	}
	at := make([]profile.NodeID, from.Tree.Len())
	for n := 1; n < len(at); n++ {
		id := profile.NodeID(n)
		at[n] = b.Child(at[from.Tree.Parent(id)], ids[from.Tree.Frame(id)])
	}
	for i, s := range from.Samples {
		b.Add(at[s.Stack], -1, from.Value(i)[0])
	}
	return p
}

// TestOrderInTimeLeftOut: a page of more changes than it shows says so before all else that is to be said.
func TestOrderInTimeLeftOut(t *testing.T) {
	p := shop()
	r := p.Runs[0]
	p.Runs = slices.Repeat([]profile.Run{r}, maxRuns+1)
	for i := range p.Runs {
		p.Runs[i].At, p.Runs[i].For = time.Duration(i), 1
	}
	said := decode(t, written(t, HTML, p, Options{})).head.Comments
	if len(said) != 2 || !strings.HasPrefix(said[0],
		"The order in time is left out: the stacks changed 1,000,001 times") {
		t.Errorf("comments are %q", said)
	}
}
