package procfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSlept: a thread has slept for as long as the clocks of two CPUs show at least.
func TestSlept(t *testing.T) {
	sched := func(ms string) string {
		return "sleep (7, #threads: 1)\n------\nse.exec_start                    :  " + ms + "\nse.vruntime : 1.5\n"
	}
	stat := func(cpu string) string { return "7 (a b) S " + strings.Repeat("0 ", 35) + cpu + " 0 0\n" }
	const cpus = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 100 200 300 0 0\ncpu1 1 2 3 4 5 0 0 0 0 0\nintr 1\n"
	for _, row := range []struct {
		name, now, last, stat, cpus string
		want                        time.Duration
	}{
		{"nothing was taken", "90000.5", "30000.25", stat("1"), cpus, 60000250 * time.Microsecond},
		{"six seconds were taken", "90000.5", "30000.5", stat("0"), cpus, 54 * time.Second},
		{"less than was taken", "31000", "30000", stat("0"), cpus, 0},
		{"a CPU that is gone", "90000", "30000", stat("5"), cpus, 0},
		{"it has not run since it moved", "90000", "0.000000", stat("1"), cpus, 0},
		{"our own is not known", "", "30000", stat("1"), cpus, 0},
		{"no such file", "90000", "", stat("1"), cpus, 0},
		{"no number", "90000", "NaN", stat("1"), cpus, 0},
		{"no CPU", "90000", "30000", "7 (a) S 1\n", cpus, 0},
		{"a count that is none", "90000", "30000", stat("1"), strings.Replace(cpus, "300", "x", 1), 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range map[string]string{"stat": row.cpus, "thread-self/sched": sched(row.now),
				"7/task/7/sched": sched(row.last), "7/task/7/stat": row.stat} {
				file := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			s := NewSlept(root)
			if got := s.Of(7, 7); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
			if got := s.Since(7, 7); got != 0 {
				t.Errorf("asleep since tick %d of a machine whose time is not known", got)
			}
			if err := os.WriteFile(filepath.Join(root, "uptime"), []byte("200.50 7.00\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			want := uint64(0)
			if row.want > 0 { // 0.02 s and a thousandth later
				want = uint64((200520*time.Millisecond - row.want + row.want/1000) / (10 * time.Millisecond))
			}
			if got := NewSlept(root).Since(7, 7); got != want {
				t.Errorf("asleep since tick %d, want %d", got, want)
			}
		})
	}
}
