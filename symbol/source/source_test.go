package source

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/work"
)

// view holds files with the hour that each was changed at.
func view(files map[string]string, hours map[string]int) View {
	return View{
		Open: func(path string) (*module.File, error) {
			text, ok := files[path]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return &module.File{Data: []byte(text), Path: path}, nil
		},
		ModTime: func(path string) (time.Time, bool) {
			h, ok := hours[path]
			return time.Unix(0, 0).Add(time.Duration(h) * time.Hour), ok
		},
	}
}

func dumpAt(file string, lines ...int) *profile.Dump {
	d := &profile.Dump{Modules: []profile.Module{{Path: "/bin/p"}}, Threads: make([]profile.Thread, 1)}
	for _, n := range lines {
		d.Threads[0].Stack.Frames = append(d.Threads[0].Stack.Frames, profile.Frame{File: file, Line: n})
	}
	return d
}

func TestAdd(t *testing.T) {
	const five = "one\ntwo\r\nthree\nfour\nfive"
	theirs := view(map[string]string{"/s/a.c": five, "/s/empty.c": ""}, map[string]int{"/s/a.c": 1, "/bin/p": 2})
	ours := view(map[string]string{"/s/a.c": "wrong\n", "/s/b.c": five}, map[string]int{"/s/b.c": 3, "/bin/p": 2})
	for _, c := range []struct {
		name  string
		dump  *profile.Dump
		lines map[int]string // nil: no such file
		newer bool
	}{
		{"in the middle", dumpAt("/s/a.c", 3), map[int]string{2: "two", 3: "three", 4: "four"}, false},
		{"first line", dumpAt("/s/a.c", 1), map[int]string{1: "one", 2: "two"}, false},
		{"last line has no newline", dumpAt("/s/a.c", 5), map[int]string{4: "four", 5: "five"}, false},
		{"behind the end", dumpAt("/s/a.c", 9), nil, false},
		{"two places overlap", dumpAt("/s/a.c", 1, 2), map[int]string{1: "one", 2: "two", 3: "three"}, false},
		{"only in our view, and newer than the program", dumpAt("/s/b.c", 1), map[int]string{1: "one", 2: "two"}, true},
		{"path with dots", dumpAt("/s/x/../a.c", 1), map[int]string{1: "one", 2: "two"}, false},
		{"relative", dumpAt("s/a.c", 1), nil, false},
		{"no line", dumpAt("/s/a.c", 0), nil, false},
		{"not there", dumpAt("/s/c.c", 1), nil, false},
		{"empty", dumpAt("/s/empty.c", 1), nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			Add(c.dump, 1, nil, theirs, ours)
			got, ok := c.dump.Sources[c.dump.Threads[0].Stack.Frames[0].File]
			if ok != (c.lines != nil) || !maps.Equal(got.Lines, c.lines) || got.Newer != c.newer {
				t.Errorf("got %v, newer %v; want %v, %v", got.Lines, got.Newer, c.lines, c.newer)
			}
		})
	}
}

// A script is newer than the program that runs it: that says nothing.
func TestScriptIsNotBuiltIn(t *testing.T) {
	for kind, want := range map[profile.Kind]bool{profile.Native: true, profile.JavaScript: false} {
		d := dumpAt("/s/a.js", 1)
		d.Modules = []profile.Module{{Path: "/bin/node"}}
		d.Threads[0].Stack.Frames[0].Kind = kind
		Add(d, 0, nil, view(map[string]string{"/s/a.js": "one"}, map[string]int{"/s/a.js": 9, "/bin/node": 3}))
		if got := d.Sources["/s/a.js"].Newer; got != want {
			t.Errorf("%v: newer is %t, want %t", kind, got, want)
		}
	}
}

func TestLongLinesAreCut(t *testing.T) {
	d := dumpAt("/s/a.c", 1)
	Add(d, 0, nil, view(map[string]string{"/s/a.c": strings.Repeat("x", 1<<20)}, nil))
	if got := len(d.Sources["/s/a.c"].Lines[1]); got != maxText {
		t.Errorf("%d bytes of a line of 1 MB, want %d", got, maxText)
	}
}

func TestLargeFilesAreLeftOut(t *testing.T) {
	d := dumpAt("/s/a.c", 1)
	Add(d, 0, nil, view(map[string]string{"/s/a.c": strings.Repeat("\n", maxSize+1)}, nil))
	if len(d.Sources) != 0 {
		t.Error("a file of more than 64 MB was read")
	}
}

// Many large files take no more than the budget, and what is missing is reported.
func TestSourcesAreBounded(t *testing.T) {
	text := strings.Repeat("\n", 1<<20)
	files := map[string]string{}
	d := &profile.Dump{Threads: []profile.Thread{{}}}
	for i := range 20 {
		name := fmt.Sprintf("/s/%d.c", i)
		files[name] = text
		d.Threads[0].Stack.Frames = append(d.Threads[0].Stack.Frames, profile.Frame{File: name, Line: 1 << 20})
	}
	Add(d, 0, work.New(5*(lineCost+1)<<20, 0), view(files, nil))
	if len(d.Sources) < 3 || len(d.Sources) > 5 || len(d.Problems) != 1 ||
		!strings.Contains(d.Problems[0], work.ErrSpent.Error()) {
		t.Errorf("got %d files and %q, want some of 20 and one problem", len(d.Sources), d.Problems)
	}
}

// TestRewritten: text that a process reads by itself, and that was changed after the process began, is told from text
// that was not; of compiled code that says nothing.
func TestRewritten(t *testing.T) {
	v := view(map[string]string{"/s/old.py": "one\n", "/s/new.py": "one\n"},
		map[string]int{"/s/old.py": 1, "/s/new.py": 3})
	for _, c := range []struct {
		name string
		file string
		kind profile.Kind
		hour int // when the process began, -1: not known
		want bool
	}{
		{"changed", "/s/new.py", profile.Python, 2, true},
		{"not changed", "/s/old.py", profile.Python, 2, false},
		{"who knows", "/s/new.py", profile.Python, -1, false},
		{"compiled", "/s/new.py", profile.Native, 2, false},
	} {
		d, view := dumpAt(c.file, 1), v
		d.Threads[0].Stack.Frames[0].Kind, d.Threads[0].Stack.Frames[0].Module = c.kind, -1
		if c.hour >= 0 {
			view.Began = time.Unix(0, 0).Add(time.Duration(c.hour) * time.Hour)
		}
		Add(d, 1, nil, view)
		if got := d.Sources[c.file]; got.Rewritten != c.want || got.Newer || len(got.Lines) != 1 {
			t.Errorf("%s: %+v, want rewritten %t", c.name, got, c.want)
		}
	}
}
