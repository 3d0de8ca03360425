package procfs

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStart: a process that began with the machine has a start too, 0; one that is gone has none.
func TestStart(t *testing.T) {
	root := t.TempDir()
	for pid, text := range map[string]string{
		"1": "1 (init) S 0 1 1 0 -1 4194560 117 0 0 0 31 4 12 5 20 0 1 0 0 2580480 197\n",
		"7": "7 (a) R) Z 1 7 7 0 -1 4194560 117 0 0 0 31 4 12 5 20 0 1 0 7133 2580480 197\n",
		"8": "8 (cut",
	} {
		if err := os.Mkdir(filepath.Join(root, pid), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, pid, "stat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		pid   int
		start uint64
		known bool
	}{{1, 0, true}, {7, 7133, true}, {8, 0, false}, {9, 0, false}} {
		if start, known := Start(root, tt.pid); start != tt.start || known != tt.known {
			t.Errorf("process %d: %d, %v; want %d, %v", tt.pid, start, known, tt.start, tt.known)
		}
	}
}
