// Package harness is what the tests of several rooms do alike: tools of the system that may be missing, programs
// that are compiled for a test, drawn file systems, and fpstack itself, built and started. For tests alone.
package harness

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Need skips a test where a tool is not installed.
func Need(t testing.TB, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

// Output runs a tool and returns what it wrote.
func Output(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(b)
}

// Compile builds source, a file whose name ends as the compiler wants, as out in a directory of the test, and returns
// its path. It skips where the compiler or a library for the options is missing.
func Compile(t testing.TB, compiler, file, source, out string, options ...string) string {
	t.Helper()
	Need(t, compiler)
	dir := t.TempDir()
	src, out := filepath.Join(dir, file), filepath.Join(dir, out)
	if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	b, err := exec.Command(compiler, append([]string{"-o", out, src}, options...)...).CombinedOutput()
	if err != nil {
		t.Skipf("%s %s does not work here: %v\n%s", compiler, strings.Join(options, " "), err, b)
	}
	return out
}

// Tree makes a file system of files and, where the content begins with "->", links. It returns its root.
func Tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if link, ok := strings.CutPrefix(content, "->"); ok {
			err = errors.Join(err, os.Symlink(link, path))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(content), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}
