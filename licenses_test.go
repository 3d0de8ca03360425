package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/regs"
)

const licenses = "cmd/licenses.txt"

// linked gives the folder of each module, path and version, that the program of an architecture is linked from.
func linked(t *testing.T, arch string, into map[string]string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps",
		"-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", ".")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list modules for %s: %v", arch, err)
	}
	for line := range strings.Lines(string(out)) {
		if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			into[name] = dir
		}
	}
}

// words is text without the difference of blanks and line ends.
func words(text []byte) string { return strings.Join(strings.Fields(string(text)), " ") }

// TestLicensesAreComplete holds that what `fpstack version --licenses` prints has the licence of each module that is
// linked, on any architecture, and of no other.
func TestLicensesAreComplete(t *testing.T) {
	text, err := os.ReadFile(licenses)
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]string{}
	for _, a := range regs.All {
		linked(t, a.Name, modules)
	}
	if len(modules) < 10 {
		t.Fatalf("%d modules are linked, want some 17", len(modules))
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules["fpstack"], modules["the standard library of Go"] = ".", strings.TrimSpace(string(root))
	for name, dir := range modules {
		files, err := filepath.Glob(filepath.Join(dir, "LICENSE*"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no licence in %s: %v", name, dir, err)
		}
		for _, file := range files {
			one, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(words(text), words(one)) || !strings.Contains(string(text), "\n  "+name+"\n") {
				t.Errorf("%s does not have %s of %s: run scripts/licenses", licenses, filepath.Base(file), name)
			}
		}
	}
	list, _, _ := strings.Cut(string(text), "\n====")
	_, list, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if name := strings.TrimSpace(line); name != "" && modules[name] == "" {
			t.Errorf("%s lists %q, which is not linked: run scripts/licenses", licenses, name)
		}
	}
}
