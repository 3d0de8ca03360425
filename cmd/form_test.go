package cmd

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestFormOfFile(t *testing.T) {
	for path, want := range map[string]string{
		"a.folded": "folded", "a.txt": "folded", "a.pb.gz": "pprof", "a.pprof": "pprof", "a.pb": "pprof",
		"a.svg":  "svg",
		"a.html": "html", "a.speedscope.json": "speedscope", "a.json": "json", "A.SVG": "svg",
		"dir.svg/a.json": "json",
		"a":              "", "a.gz": "", "a.png": "", "svg": "", "dir.svg/a": "", "": "",
	} {
		f := formOfFile(path)
		if got := ""; f != nil {
			got = f.name
			if got != want {
				t.Errorf("formOfFile(%q): got %q, want %q", path, got, want)
			}
		} else if want != "" {
			t.Errorf("formOfFile(%q): got none, want %q", path, want)
		}
	}
}

func TestDestine(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		name, output, format string
		path, form           string // "" for a mistake
	}{
		{"nothing said", "", "", "-", "folded"},
		{"standard output by name", "-", "", "-", "folded"},
		{"format alone", "", "pprof", "-", "pprof"},
		{"ending", "out.svg", "", "out.svg", "svg"},
		{"format and another ending", "out.svg", "json", "", ""},
		{"format and its ending", "out.txt", "folded", "out.txt", "folded"},
		{"format and no known ending", "out", "html", "out", "html"},
		{"unknown ending", "out.png", "", "", ""},
		{"no ending", "out", "", "", ""},
	} {
		got, err := (&app{stdout: &bytes.Buffer{}}).destine(tt.output, tt.format, "folded", "stem", false)
		var usage usageError
		switch {
		case tt.path == "":
			if !errors.As(err, &usage) {
				t.Errorf("%s: got %v, want a mistake on the command line", tt.name, err)
			}
		case err != nil || got.path != tt.path || got.form.name != tt.form:
			t.Errorf("%s: got %+v, %v; want %s as %s", tt.name, got, err, tt.path, tt.form)
		}
	}
}

// TestStoreChoosesUnusedNames: a name that we choose gets a number if it is taken, and whoever took it is left alone.
func TestStoreChoosesUnusedNames(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Symlink("elsewhere", "fpstack-7-2.html"); err != nil {
		t.Fatal(err)
	}
	to := destination{path: "fpstack-7.html", form: formNamed("html"), stem: recordStem(ids{7, 8}, nil)}
	for _, want := range []string{"fpstack-7.html", "fpstack-7-3.html", "fpstack-7-4.html"} {
		got, err := (&app{}).store(&to, func(w io.Writer) error { _, err := io.WriteString(w, want); return err })
		if b, _ := os.ReadFile(want); err != nil || got != want || string(b) != want {
			t.Errorf("got %q, %v with %q; want %q", got, err, b, want)
		}
	}
	if _, err := os.Lstat("elsewhere"); err == nil {
		t.Error("a link was followed")
	}
	if got, want := recordStem(nil, []string{"/usr/bin/my prog;$x\n", "-v"}), "fpstack-my_prog__x_"; got != want {
		t.Errorf("name of a command: got %q, want %q", got, want)
	}
}

func TestCheckWritable(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, path string
		ok         bool
	}{
		{"standard output", "-", true}, {"new file", filepath.Join(dir, "new"), true},
		{"file that is there", old, true},
		{"device", "/dev/null", true}, {"a folder", dir, false},
		{"folder that is not there", filepath.Join(dir, "no", "new"), false},
		{"file below a file", filepath.Join(old, "new"), false},
	} {
		if err := (&app{}).checkWritable(tt.path); (err == nil) != tt.ok {
			t.Errorf("%s: got %v, want ok %v", tt.name, err, tt.ok)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files are left behind: %v", left)
	}
	if b, err := os.ReadFile(old); string(b) != "old" {
		t.Errorf("the old file holds %q, %v", b, err)
	}
}
