package sourcemap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/work"
)

// shelf opens files of testdata below /app, and those given.
func shelf(files map[string]string, asked *[]string) func(string) (*module.File, error) {
	return func(name string) (*module.File, error) {
		*asked = append(*asked, name)
		if text, ok := files[name]; ok {
			return &module.File{Data: []byte(text), Path: name}, nil
		}
		rest, ok := strings.CutPrefix(name, "/app/")
		if !ok {
			return nil, fs.ErrNotExist
		}
		b, err := os.ReadFile(path.Join("testdata", rest))
		return &module.File{Data: b, Path: name}, err
	}
}

// TestPlaces compares each place of files made by tsc and esbuild with what Node.js says of it (testdata/expect.js).
func TestPlaces(t *testing.T) {
	text, err := os.ReadFile("testdata/expected")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	f := NewFiles(shelf(nil, &asked), work.New(1<<28, 1<<24))
	n := 0
	for row := range strings.Lines(string(text)) {
		var file, source string
		var line, column int
		var want Place
		if _, err := fmt.Sscan(row, &file, &line, &column, &source); err != nil {
			t.Fatalf("%q: %v", row, err)
		}
		if source != "-" {
			var skip string
			if _, err := fmt.Sscan(row, &file, &line, &column, &skip, &want.Line, &want.Column); err != nil {
				t.Fatalf("%q: %v", row, err)
			}
			want.Source = path.Join("/app", path.Dir(file), source)
		}
		got, ok := place(f, "/app/"+file, line, column)
		if ok != (source != "-") || ok && got != want {
			t.Errorf("%s:%d:%d: %+v, %v; want %+v", file, line, column, got, ok, want)
		}
		n++
	}
	if n < 1000 || f.Err() != nil {
		t.Errorf("%d places, %v", n, f.Err())
	}
	if len(asked) != 7 { // four files, of which one holds its map
		t.Errorf("opened %q", asked)
	}
}

// TestFind: what counts at a column, by small maps.
func TestFind(t *testing.T) {
	for _, tc := range []struct {
		name         string
		json         string
		line, column int
		want         string
	}{
		{"first column", `{"version":3,"sources":["a.ts"],"mappings":"AAAA"}`, 1, 1, "/m/a.ts:1:1"},
		{"behind it", `{"version":3,"sources":["a.ts"],"mappings":"AAAA"}`, 1, 99, "/m/a.ts:1:1"},
		{"before the first", `{"version":3,"sources":["a.ts"],"mappings":"EAAA"}`, 1, 2, ""},
		{"a line without segments", `{"version":3,"sources":["a.ts"],"mappings":"AAAA;;AACA"}`, 2, 1, ""},
		{"relative to lines before", `{"version":3,"sources":["a.ts"],"mappings":"AAAA;;AACA"}`, 3, 1, "/m/a.ts:2:1"},
		{"text that comes from nowhere", `{"version":3,"sources":["a.ts"],"mappings":"AAAA,E"}`, 1, 4, ""},
		{"not in order", `{"version":3,"sources":["a.ts"],"mappings":"EAAA,DACC"}`, 1, 2, "/m/a.ts:2:2"},
		{"large numbers", `{"version":3,"sources":["a.ts"],"mappings":"ggCAqDE"}`, 1, 1025, "/m/a.ts:54:3"},
		{"a root", `{"version":3,"sourceRoot":"../src/","sources":["a.ts"],"mappings":"AAAA"}`, 1, 1, "/src/a.ts:1:1"},
		{"a URL", `{"version":3,"sourceRoot":"x","sources":["webpack://a/b.ts"],"mappings":"AAAA"}`, 1, 1,
			"webpack://a/b.ts:1:1"},
		{"a URL of a file", `{"version":3,"sources":["file:///x/../b.ts"],"mappings":"AAAA"}`, 1, 1, "/b.ts:1:1"},
		{"no name", `{"version":3,"sources":[null],"mappings":"AAAA"}`, 1, 1, ":1:1"},
		{"sections", `{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":{"version":3,"sources":["a.ts"],` +
			`"mappings":"AAAA"}},{"offset":{"line":1,"column":4},"map":{"version":3,"sources":["b.ts"],` +
			`"mappings":"AACA;AACA"}}]}`, 2, 6, "/m/b.ts:2:1"},
		{"sections, next line", `{"version":3,"sections":[{"offset":{"line":1,"column":4},"map":{"version":3,` +
			`"sources":["b.ts"],"mappings":"AACA;AACA"}}]}`, 3, 1, "/m/b.ts:3:1"},
		{"behind a guard", ")]}'\n" + `{"version":3,"sources":["a.ts"],"mappings":"AAAA"}`, 1, 1, "/m/a.ts:1:1"},
		{"line 0", `{"version":3,"sources":["a.ts"],"mappings":"AAAA"}`, 0, 1, ""},
		{"behind the last line", `{"version":3,"sources":["a.ts"],"mappings":"AAAA"}`, 2, 1, ""},
	} {
		m, err := Parse([]byte(tc.json), "/m/x.js.map", nil)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		got := ""
		if p, ok := m.Find(tc.line, tc.column); ok {
			got = fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestParseRefuses: maps that are none, and that nothing of their text gets into a message.
func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":             "root:$6$secret:19000:0:99999:7:::",
		"ends early":          `{"version":3,"sources":["a"],"mappings":"AA`,
		"other types":         `{"version":3,"sources":"secret","mappings":"AAAA"}`,
		"version 2":           `{"version":2,"sources":["a"],"mappings":"AAAA"}`,
		"no version":          `{"sources":["a"],"mappings":"AAAA"}`,
		"a source too many":   `{"version":3,"sources":["a"],"mappings":"ACAA"}`,
		"source -1":           `{"version":3,"sources":["a"],"mappings":"ADAA"}`,
		"line -1":             `{"version":3,"sources":["a"],"mappings":"AADA"}`,
		"two numbers":         `{"version":3,"sources":["a"],"mappings":"AA"}`,
		"six numbers":         `{"version":3,"sources":["a"],"mappings":"AAAAAA"}`,
		"no digit":            `{"version":3,"sources":["a"],"mappings":"A!AA"}`,
		"a number of 8 words": `{"version":3,"sources":["a"],"mappings":"gggggggggggggggB"}`,
		"a section of itself": `{"version":3,"sections":[{"offset":{},"map":{"version":3,"sections":[{}]}}]}`,
		"a section behind":    `{"version":3,"sections":[{"offset":{"line":99999999},"map":{"version":3}}]}`,
	} {
		m, err := Parse([]byte(text), "/m/x.map", nil)
		if !errors.Is(err, ErrFormat) || m != nil || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// TestParseIsBounded: a map of many lines or segments is refused by what it takes.
func TestParseIsBounded(t *testing.T) {
	wide := `{"version":3,"sources":["a"],"mappings":"` + strings.Repeat("AAAA,", 1<<20) + `"}`
	if _, err := Parse([]byte(wide), "/m", work.New(1<<30, 1<<20)); !errors.Is(err, work.ErrMemory) {
		t.Errorf("many segments: %v", err)
	}
	long := `{"version":3,"sources":["a"],"mappings":"` + strings.Repeat(";", 1<<20) + `AAAA"}`
	if _, err := Parse([]byte(long), "/m", work.New(1<<30, 1<<20)); !errors.Is(err, work.ErrMemory) {
		t.Errorf("many lines: %v", err)
	}
	if _, err := Parse([]byte(wide), "/m", work.New(1<<10, 1<<30)); !errors.Is(err, work.ErrSpent) {
		t.Errorf("much work: %v", err)
	}
}

// TestFiles: which files are opened for a script, and which are not.
func TestFiles(t *testing.T) {
	const good = `{"version":3,"sources":["a.ts"],"mappings":"AAAA"}`
	for _, tc := range []struct {
		name, script string
		files        map[string]string
		want         string // source
		says         string // error
		opened       string
	}{
		{"beside", "x\n//# sourceMappingURL=x.js.map\n", map[string]string{"/d/x.js.map": good}, "/d/a.ts", "",
			"/d/x.js.map"},
		{"older comment", "x\n//@ sourceMappingURL=x.js.map", map[string]string{"/d/x.js.map": good}, "/d/a.ts", "",
			"/d/x.js.map"},
		{"below", "x\n//# sourceMappingURL=maps/my%20x.js.map\r\n", map[string]string{"/d/maps/my x.js.map": good},
			"/d/maps/a.ts", "", "/d/maps/my x.js.map"},
		{"a URL of a file", "//# sourceMappingURL=file:///m/x.map", map[string]string{"/m/x.map": good}, "/m/a.ts", "",
			"/m/x.map"},
		{"the last counts", "//# sourceMappingURL=no.map\n//# sourceMappingURL=x.map\n\n", map[string]string{
			"/d/x.map": good}, "/d/a.ts", "", "/d/x.map"},
		{"text in the middle of code", "f('//# sourceMappingURL=x.map')\nmore()", nil, "", "", ""},
		{"in the file, base64", "//# sourceMappingURL=data:application/json;charset=utf-8;base64,eyJ2ZXJzaW9uIjozLC" +
			"Jzb3VyY2VzIjpbImEudHMiXSwibWFwcGluZ3MiOiJBQUFBIn0=", nil, "/d/a.ts", "", ""},
		{"in the file, as it is", "//# sourceMappingURL=data:application/json," +
			"%7B%22version%22:3,%22sources%22:[%22a.ts%22],%22mappings%22:%22AAAA%22%7D", nil, "/d/a.ts", "", ""},
		{"damaged base64", "//# sourceMappingURL=data:application/json;base64,!!", nil, "", "base64", ""},
		{"none", "x", nil, "", "", ""},
		{"gone", "//# sourceMappingURL=x.map", nil, "", `there is no file "/d/x.map"`, "/d/x.map"},
		{"on another machine", "//# sourceMappingURL=https://example.com/x.map", nil, "", "another machine", ""},
		{"another file", "//# sourceMappingURL=../etc/shadow", map[string]string{"/etc/shadow": "root:secret"}, "",
			"is not the name of a map", ""},
		{"no map", "//# sourceMappingURL=x.map", map[string]string{"/d/x.map": "root:secret"}, "", "no source map",
			"/d/x.map"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := map[string]string{"/d/x.js": tc.script}
			for k, v := range tc.files {
				files[k] = v
			}
			var asked []string
			f := NewFiles(shelf(files, &asked), work.New(1<<24, 1<<20))
			for range 2 { // the second time nothing is opened
				p, ok := place(f, "/d/x.js", 1, 1)
				if p.Source != tc.want || ok != (tc.want != "") {
					t.Errorf("%+v, %v; want %q", p, ok, tc.want)
				}
			}
			got := fmt.Sprint(f.Err())
			if tc.says == "" && f.Err() != nil || !strings.Contains(got, tc.says) || strings.Contains(got, "secret") {
				t.Errorf("error %v, want one with %q", f.Err(), tc.says)
			}
			if opened := strings.Join(asked, " "); strings.TrimSpace("/d/x.js "+tc.opened) != opened {
				t.Errorf("opened %q, want the script and %q", opened, tc.opened)
			}
		})
	}
	var asked []string
	f := NewFiles(shelf(nil, &asked), nil)
	for _, name := range []string{"<eval>", "node:fs", "x.js", "", "/d/\x00.js"} {
		if p, ok := place(f, name, 1, 1); ok || len(asked) > 0 {
			t.Errorf("%q: %+v, opened %q", name, p, asked)
		}
	}
}

// TestInside: maps inside of a text are read up to bounds of one and of all, and no file is opened.
func TestInside(t *testing.T) {
	var asked []string
	f := NewFiles(shelf(map[string]string{"/d/x.js.map": `{"version":3}`}, &asked), nil)
	link := func(size int) string {
		const begin, end = `data:application/json,{"version":3,"sources":["a.ts"],"mappings":"AAAA","file":"`, `"}`
		return begin + strings.Repeat("x", size-len(begin)-len(end)) + end
	}
	if f.Inside("/d/x.js", "x.js.map") != nil || f.Inside("/d/x.js", "") != nil || f.Inside("/d/x.js",
		link(MaxInside+1)) != nil {
		t.Error("a file was read, or a map that is too long")
	}
	read := 0
	for i := range 2 * maxInsides / MaxInside {
		if f.Inside(fmt.Sprintf("/d/%d.js", i), link(MaxInside)) != nil {
			read++
		}
	}
	if read != maxInsides/MaxInside || len(asked) > 0 || f.Err() != nil {
		t.Errorf("%d maps read, files opened %q, error %v", read, asked, f.Err())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":3,"sources":["a.ts"],"mappings":"AAAA;ECSA,E"}`))
	f.Add([]byte(`{"version":3,"sections":[{"offset":{"line":1,"column":4},"map":{"version":3,"mappings":"A"}}]}`))
	b, err := os.ReadFile("testdata/bundle.js.map")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data, "/d/x.map", work.New(1<<26, 1<<24))
		if (err == nil) != (m != nil) {
			t.Fatalf("%v, %v", m, err)
		}
		if m == nil {
			return
		}
		for line := range min(len(m.lines), 50) {
			for column := range 50 {
				if p, ok := m.Find(line+1, column+1); ok && (p.Line < 1 || p.Column < 1) {
					t.Errorf("%+v", p)
				}
			}
		}
	})
}

// place is a place by the map of a file that names it itself.
func place(f *Files, name string, line, column int) (Place, bool) {
	m := f.Map(name, "")
	if m == nil {
		return Place{}, false
	}
	return m.Find(line, column)
}
