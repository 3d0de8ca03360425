package source

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/work"
)

// shelf is a view of some files, which keeps the names that were asked for.
func shelf(files map[string]string, asked *[]string) View {
	return View{
		Open: func(path string) (*module.File, error) {
			*asked = append(*asked, path)
			text, ok := files[path]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return &module.File{Data: []byte(text), Path: path}, nil
		},
		ModTime: func(string) (time.Time, bool) { return time.Time{}, false },
	}
}

func profileOf(frames ...profile.Frame) *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount)
	for i, f := range frames {
		f.Module = -1
		b.Add(b.Child(0, b.Frame(f)), -1, int64(1000-i))
	}
	return b.Profile()
}

func TestForProfile(t *testing.T) {
	var asked []string
	files := map[string]string{"/src/a.c": "1\n2\n3\n4\n5\n6\n7\n8\n", "/etc/shadow": "root:secret\n",
		"/src/gone.go": ""}
	p := profileOf(profile.Frame{Func: "a", File: "/src/a.c", Line: 4}, profile.Frame{Func: "a", File: "/src/a.c",
		Line: 8},
		profile.Frame{Func: "evil", File: "/etc/shadow", Line: 1}, profile.Frame{Func: "relative", File: "b.c",
			Line: 1},
		profile.Frame{Func: "unknown", File: "/src/a.c"}, profile.Frame{Func: "missing", File: "/src/missing.rs",
			Line: 3})
	got := ForProfile(p, 1, work.New(1<<20, 1<<20), shelf(files, &asked))
	if want := map[int]string{3: "3", 4: "4", 5: "5", 7: "7", 8: "8"}; len(got) != 1 ||
		!maps.Equal(got["/src/a.c"].Lines, want) {
		t.Errorf("got %v, want the lines %v of /src/a.c", got, want)
	}
	if slices.Sort(asked); !slices.Equal(asked, []string{"/src/a.c", "/src/missing.rs"}) {
		t.Errorf("opened %q, want source files with absolute names alone", asked)
	}
}

func TestForProfileIsBounded(t *testing.T) {
	files, frames := map[string]string{}, []profile.Frame(nil)
	long := strings.Repeat(strings.Repeat("x", 400)+"\n", 100)
	for i := range 100 {
		name := fmt.Sprintf("/src/%03d.c", i)
		files[name] = long
		for line := 1; line < 100; line += 5 {
			frames = append(frames, profile.Frame{Func: fmt.Sprintf("f%03d", i), File: name, Line: line})
		}
	}
	var asked []string
	got := ForProfile(profileOf(frames...), 2, work.New(1<<30, 1<<30), shelf(files, &asked))
	size := 0
	for _, s := range got {
		for _, text := range s.Lines {
			size += len(text)
		}
	}
	if size > maxBytes || size < maxBytes/2 {
		t.Errorf("%d bytes of text, want at most %d and more than half of it", size, maxBytes)
	}
	if _, ok := got["/src/000.c"]; !ok {
		t.Error("the file of the hottest function is left out")
	}
	if got := ForProfile(profileOf(frames...), 2, work.New(3*fileCost, 1<<20), shelf(files, &asked)); len(got) > 3 {
		t.Errorf("%d files within a budget for three", len(got))
	}
}
