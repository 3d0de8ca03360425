package procfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// task makes a folder of a thread of process 7 with those files, and returns the root.
func task(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "7", "task", "8")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestReadCounters(t *testing.T) {
	const (
		status = "Name:\tx\nState:\tS (sleeping)\nTgid:\t7\nPid:\t8\nvoluntary_ctxt_switches:\t12\n" +
			"nonvoluntary_ctxt_switches:\t3\n"
		stat = "8 (x) S 1 4121 4121 34816 -1 4194560 117 0 0 0 31 4 12 5 20 0 1 0 7133 2580480 197\n"
	)
	for _, row := range []struct {
		name  string
		files map[string]string
		want  Counters
		ok    bool
	}{
		{"with schedstat", map[string]string{"status": status, "stat": stat, "schedstat": "1000 2000 3\n"},
			Counters{State: 'S', Start: 7133, CPU: 1000, System: 40 * time.Millisecond,
				Delay: 2000, HasDelay: true, Voluntary: 12,
				Preemptive: 3}, true},
		{"a kernel without it", map[string]string{"status": status, "stat": stat},
			Counters{State: 'S', Start: 7133, CPU: 350 * time.Millisecond, System: 40 * time.Millisecond, Voluntary: 12,
				Preemptive: 3}, true},
		{"a thread that ends meanwhile", map[string]string{"status": status}, Counters{}, false},
		{"no switches", map[string]string{"status": "Name:\tx\n", "stat": stat}, Counters{}, false},
		{"malformed", map[string]string{"status": status, "stat": stat, "schedstat": "1 x\n"}, Counters{}, false},
	} {
		all, err := ReadCounters(task(t, row.files), 7)
		got, ok := all[8]
		if err != nil || ok != row.ok || got != row.want {
			t.Errorf("%s: got %+v, %v, %v, want %+v, %v", row.name, got, ok, err, row.want, row.ok)
		}
	}
	if all, err := ReadCounters(t.TempDir(), 7); err == nil {
		t.Errorf("got %v of a process that is not there, want an error", all)
	}
}
