//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/hostile"
)

// chained starts a process with a frame in each of n files of about size bytes, of all kinds in turn,
// and gives their names.
func chained(t *testing.T, n, size int) (*target, []string) {
	t.Helper()
	dir := room(t)
	// By another process: what they take to be made would count as the memory of every program that is started here
	// later (exec keeps the peak of who called it, getrusage(2)).
	write := exec.Command(os.Args[0], dir, strconv.Itoa(n), strconv.Itoa(size))
	write.Env = append(os.Environ(), "LIVE_TARGET=hostile")
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("write hostile files: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.so"))
	if err != nil || len(files) != n {
		t.Fatalf("%d hostile files, want %d (%v)", len(files), n, err)
	}
	return launchAsleep(t, exec.Command(program(t, "chain"), files...)), files
}

// writeHostile writes files for chained: the directory, how many, and their size in bytes.
func writeHostile(args []string) {
	n, _ := strconv.Atoi(args[1])
	size, _ := strconv.Atoi(args[2])
	made := map[string][]byte{}
	for i := range n {
		k := hostile.Kinds[i%len(hostile.Kinds)]
		if made[k.Name] == nil {
			made[k.Name] = k.Make(size)
		}
		if err := os.WriteFile(filepath.Join(args[0], fmt.Sprintf("%04d.so", i)), made[k.Name], 0o755); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// A process that maps a thousand files, each as dear to read as its format allows, is shown whole: the
// work of a run is bounded, and what is not read is reported. What the run may take is reported in
// docs/hostile.md; the time here only separates an end from none.
func TestThousandHostileFiles(t *testing.T) {
	t.Parallel()
	const n = 1000
	p, _ := chained(t, n, 100<<10)
	d, o := tryJSON(t, p.pid)
	if o.status != 1 || d == nil || len(d.Threads) != 1 {
		t.Fatalf("status %d, dump %v, want 1 and one thread\n%.2000s", o.status, d != nil, o.stderr)
	}
	if got := len(d.Threads[0].Stack.Frames); got < n {
		t.Errorf("%d frames, want one in each of %d files", got, n)
	}
	if !strings.Contains(o.stderr, "it takes more work than one run may do") {
		t.Errorf("nothing was cut, or it is not reported:\n%.2000s", o.stderr)
	}
	if first := d.Threads[0].Stack.Frames[0]; !strings.Contains(first.Function, "pause") {
		t.Errorf("the first frame is %q, want the C library's pause in spite of the others", first.Function)
	}
	const most = 1 << 30 // resident, with the pages of the files themselves
	if o.peak > most {
		t.Errorf("took %d MB of memory", o.peak>>20)
	}
}

// Whatever is being read, a signal ends it within a second, and what is known is shown.
func TestSignalEndsReading(t *testing.T) {
	t.Parallel()
	p, files := chained(t, 300, 400<<10)
	pid := strconv.Itoa(p.pid)
	dumped := filepath.Join(room(t), "dump.json")
	if o := show(t, "-p", pid, "-f", "json", "--names=none", "-o", dumped); o.status > 1 {
		t.Fatalf("dump without names: status %d\n%.2000s", o.status, o.stderr)
	}
	for _, args := range [][]string{{"-p", pid}, {"-p", pid, "--names=full"}, {"check", "-p", pid},
		append([]string{dumped}, files...)} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(args[0]+" "+sig.String(), func(t *testing.T) {
				cmd := exec.Command(fpstack, args...)
				var stderr strings.Builder
				cmd.Stderr = &stderr
				if err := start(cmd); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond) // wherever that is: it only has to read still
				cmd.Process.Signal(sig)
				begun := time.Now()
				done := make(chan error, 1)
				go func() { done <- cmd.Wait() }()
				select {
				case err := <-done:
					if strings.Contains(stderr.String(), "goroutine ") {
						t.Errorf("%v:\n%s", err, stderr.String())
					}
					t.Logf("ended %v after the signal: %v, %.200s", time.Since(begun), err, stderr.String())
				case <-time.After(patience):
					cmd.Process.Kill()
					t.Fatalf("goes on for %v after the signal", patience)
				}
				if got := stderr.String(); !strings.Contains(got, "interrupted") {
					t.Errorf("it ended before the signal, or does not report it:\n%.500s", got)
				}
				if took := time.Since(begun); took > 5*time.Second { // a second where the machine is not busy
					t.Errorf("ended %v after the signal", took)
				}
			})
		}
	}
}
