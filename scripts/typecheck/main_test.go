package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: what is wrong on one system alone is found there and nowhere else, in tests where these are asked for.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"main.go": "package main\n\nimport \"net/http\"\n\nvar large int = 1 << 40\n\n" +
			"func main() { _, _ = large, http.Get }\n",
		"b/b.go":      "package b\n\nimport \"syscall\"\n\nfunc links(s *syscall.Stat_t) uint64 { return s.Nlink }\n",
		"c/c.go":      "package c\n\nvar n int\n",
		"c/c_test.go": "package c\n\nimport \"syscall\"\n\nvar _ = n + syscall.Gettid()\n",
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
		system   string
		list     []string
		packages int
		want     []string
	}{
		{"linux/amd64", []string{"./..."}, 3, nil},
		{"linux/arm64", []string{"./..."}, 3, []string{"s.Nlink"}}, // 32 bits wide there
		{"linux/arm", []string{"./..."}, 3, []string{"1 << 40", "s.Nlink"}},
		{"linux/amd64", []string{"-test", "./..."}, 4, nil},
		{"darwin/arm64", []string{"./c"}, 1, nil},
		{"darwin/arm64", []string{"-test", "./c"}, 2, []string{"syscall.Gettid"}},
	} {
		n, wrong, err := check(dir, tt.system, tt.list)
		if err != nil || n != tt.packages || len(wrong) != len(tt.want) {
			t.Errorf("%s: %d packages, %v, %v", tt.system, n, wrong, err)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(wrong[0].Error()+wrong[len(wrong)-1].Error(), want) {
				t.Errorf("%s: %v, want one about %s", tt.system, wrong[i], want)
			}
		}
	}
	for _, system := range []string{"linux/vax", "amd64"} {
		if _, _, err := check(dir, system, []string{"./..."}); err == nil {
			t.Errorf("%s was checked", system)
		}
	}
}
