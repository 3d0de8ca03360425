package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: what is wrong on one architecture alone is found there and nowhere else.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"main.go": "package main\n\nimport \"net/http\"\n\nvar large int = 1 << 40\n\n" +
			"func main() { _, _ = large, http.Get }\n",
		"b/b.go": "package b\n\nimport \"syscall\"\n\nfunc links(s *syscall.Stat_t) uint64 { return s.Nlink }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		arch string
		want []string
	}{
		{"amd64", nil},
		{"arm64", []string{"s.Nlink"}}, // 32 bits wide there
		{"arm", []string{"1 << 40", "s.Nlink"}},
	} {
		n, wrong, err := check(dir, tt.arch)
		if err != nil || n != 2 || len(wrong) != len(tt.want) {
			t.Errorf("%s: %d packages, %v, %v", tt.arch, n, wrong, err)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(wrong[0].Error()+wrong[len(wrong)-1].Error(), want) {
				t.Errorf("%s: %v, want one about %s", tt.arch, wrong[i], want)
			}
		}
	}
	if _, _, err := check(dir, "vax"); err == nil {
		t.Error("vax was checked")
	}
}
