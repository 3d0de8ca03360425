package module

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What no process maps has no program headers: objects, split DWARF, what dwz makes.
func TestNewFileOfObject(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.o")
	cmd := exec.Command("gcc", "-g", "-x", "c", "-c", "-o", path, "-")
	cmd.Stdin = strings.NewReader("int f(int n) { return n + 1; }\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("gcc does not work here: %v\n%s", err, out)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewFile(&File{Data: b, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := m.Section(".debug_info"); !ok || len(s.Data) == 0 {
		t.Error("no .debug_info in an object built with -g")
	}
	if _, err := parseFile(&File{Data: b}, nil); err == nil {
		t.Error("an object that cannot be mapped was accepted as one that is")
	}
}

func TestBeside(t *testing.T) {
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	m, err := NewFile(&File{Data: b, Path: "/a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Beside("/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no view: got %v, want that there is no such file", err)
	}
	m, err = NewFile(&File{Data: b, Path: "/a",
		Beside: func(path string) (*File, error) { return &File{Path: "seen " + path}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := m.Beside("/b"); err != nil || f.Path != "seen /b" {
		t.Errorf("got %v, %v", f, err)
	}
}
