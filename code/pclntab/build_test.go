package pclntab

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// builds are ways to link a Go program that put the table, moduledata and text elsewhere.
var builds = []struct {
	name string
	cgo  bool
	args []string
}{
	{name: "default"},
	{name: "stripped", args: []string{"-ldflags=-s -w"}},
	{name: "pie", args: []string{"-buildmode=pie"}},
	{name: "pie stripped", args: []string{"-buildmode=pie", "-ldflags=-s -w"}},
	{name: "external linker", cgo: true, args: []string{"-ldflags=-linkmode=external"}},
	{name: "external linker pie stripped", cgo: true,
		args: []string{"-buildmode=pie", "-ldflags=-s -w -linkmode=external"}},
}

// build compiles testdata/frames.go and returns the path of the program.
func build(t testing.TB, cgo bool, env []string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "frames")
	args = append(append([]string{"build", "-o", out}, args...), "testdata/frames.go")
	cmd := exec.Command("go", args...)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if cgo {
		if _, err := exec.LookPath("gcc"); err != nil {
			t.Skipf("a C compiler is not installed: %v", err)
		}
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	cmd.Env = append(cmd.Env, env...)
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, msg)
	}
	return out
}

// hostArch is the setting that builds for the machine as it is, also from a test that was built
// for 386: a position-independent program needs a C linker there.
func hostArch(t testing.TB) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOHOSTARCH").Output()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"GOARCH=" + strings.TrimSpace(string(out))}
}

// open opens the table of the program at path by the sections that debug/elf finds.
func open(t testing.TB, path string) (*Table, *elf.File) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	table, err := Open(sectionsOf(f), nil)
	if err != nil {
		t.Fatal(err)
	}
	return table, f
}

func sectionsOf(f *elf.File) func(string) (uint64, []byte, bool) {
	return func(name string) (uint64, []byte, bool) {
		s := f.Section(name)
		if s == nil {
			return 0, nil, false
		}
		data, err := s.Data()
		return s.Addr, data, err == nil
	}
}
