package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenSource: what a page may show is what everybody may read.
func TestOpenSource(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "source")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	private := filepath.Join(dir, "private")
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(private, 0o700),
		os.WriteFile(filepath.Join(dir, "open.c"), []byte("int a;\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "closed.c"), []byte("int b;\n"), 0o600),
		os.WriteFile(filepath.Join(private, "hidden.c"), []byte("int c;\n"), 0o644),
		os.Symlink(filepath.Join(private, "hidden.c"), filepath.Join(dir, "link.c")),
		syscall.Mkfifo(filepath.Join(dir, "pipe.c"), 0o644)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, data, refused string }{
		{"open.c", "int a;\n", ""},
		{"closed.c", "int b;\n", "not readable by everybody"},
		{"private/hidden.c", "int c;\n", "not readable by everybody"},
		{"link.c", "int c;\n", "not readable by everybody"},
		{"pipe.c", "", "not a regular file"},
		{".", "", "not a regular file"},
	} {
		f, err := openSource(filepath.Join(dir, tt.name))
		switch {
		case tt.refused == "" || tt.data != "" && os.Geteuid() != 0: // who is not root sees what the kernel lets them
			if err != nil || string(f.Data) != tt.data {
				t.Errorf("%s: got %v, %v, want %q", tt.name, f, err, tt.data)
			}
		case err == nil || !strings.Contains(err.Error(), tt.refused):
			t.Errorf("%s: got %v, %v, want it refused as %s", tt.name, f, err, tt.refused)
		}
	}
	big := filepath.Join(dir, "big.c")
	if err := os.WriteFile(big, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, largestSource+1); err != nil {
		t.Fatal(err)
	}
	if _, err := openSource(big); err == nil || !strings.Contains(err.Error(), "more than 8 MiB") {
		t.Errorf("big.c: got %v, want it refused as too large", err)
	}
}

// TestSeesOurFiles: a process of ours does, one that is gone does not.
func TestSeesOurFiles(t *testing.T) {
	if !seesOurFiles(os.Getpid()) {
		t.Error("we do not see our own files")
	}
	if seesOurFiles(1 << 30) {
		t.Error("a process that is not there sees our files")
	}
}
