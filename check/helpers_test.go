package check

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol"
)

// built gives the path of a program of testdata/live.
func built(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("../testdata/bin/live", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not built: scripts/build-live says why", name)
	}
	return path
}

// open reads the object at path.
func open(t testing.TB, path string) *module.Module {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("no file to test with: %v", err)
	}
	m, err := module.NewFile(&module.File{Data: data, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// nameOf names the function at v.
func (l *inspection) nameOf(v module.Vaddr) (string, error) {
	s, err := symbol.New(l.m).Lookup([]module.Vaddr{v})
	if s[0] == nil {
		return "?", err
	}
	return s[0].Name, err
}

func readBuilt(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join("../testdata/bin/live", name))
}
