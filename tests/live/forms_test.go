//go:build linux

package live

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// foldedOf is what folded text should hold of dumps: how many threads have each stack, as their
// JSON says it.
func foldedOf(ds ...*dump) map[string]int {
	want := map[string]int{}
	for _, d := range ds {
		for i := range d.Threads {
			names := d.Threads[i].functions()
			slices.Reverse(names)
			if call := d.Threads[i].Syscall; call != nil {
				names = append(names, call.Name)
			}
			want[strings.Join(names, ";")]++
		}
	}
	return want
}

// readFolded counts the stacks of folded text.
func readFolded(t *testing.T, text string) map[string]int {
	t.Helper()
	got := map[string]int{}
	for line := range strings.Lines(text) {
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.Atoi(strings.TrimSpace(line[at+1:]))
		if err != nil {
			t.Fatalf("line %q of folded text: %v", line, err)
		}
		got[line[:at]] += n
	}
	return got
}

// TestFoldedDump: each stack with the number of threads that have it, of one process and of two.
func TestFoldedDump(t *testing.T) {
	a, b := runTarget(t, "threads", "4", "10"), runTarget(t, "threads", "3", "5")
	one, two := dumpJSON(t, a.pid), dumpJSON(t, b.pid)
	first := strconv.Itoa(a.pid)
	if got, want := readFolded(t, text(t, "-p", first, "-f", "folded")), foldedOf(one); !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got, want := readFolded(t, text(t, "-p", fmt.Sprintf("%d,%d", a.pid, b.pid), "-f", "folded")),
		foldedOf(one, two); !maps.Equal(got, want) {
		t.Errorf("two processes: got  %v\nwant %v", got, want)
	}
	if got := text(t, "-p", first, "-f", "folded", "--max-frames", "3"); strings.Count(got,
		"(stack cut: depth limit);") != 2 {
		t.Errorf("stacks that were cut do not say so:\n%s", got)
	}
	skipped := readFolded(t, text(t, "-p", first, "-f", "folded", "--skip-frames", "1"))
	for stack := range foldedOf(one) {
		words := strings.Split(stack, ";")
		call := len(words) - 1
		if without := strings.Join(slices.Delete(words, call-1, call), ";"); skipped[without] == 0 {
			t.Errorf("no stack %q without the innermost frame in %v", without, skipped)
		}
	}
}

// TestPprofDump: what `go tool pprof` says of the file.
func TestPprofDump(t *testing.T) {
	t.Parallel()
	tool := installed(t, "go")
	a, b := runTarget(t, "threads", "4", "10"), runTarget(t, "threads-rust", "2", "5")
	file := filepath.Join(room(t), "dump.pb.gz")
	if o := show(t, "-p", fmt.Sprintf("%d,%d", a.pid, b.pid), "-f", "pprof", "-o", file); o.status != 0 {
		t.Fatalf("status %d: %s", o.status, o.stderr)
	}
	raw := execute(t, bound, tool, "tool", "pprof", "-raw", file)
	if raw.status != 0 || !strings.Contains(raw.stdout, "threads/count") {
		t.Fatalf("pprof -raw: status %d\n%.2000s%s", raw.status, raw.stdout, raw.stderr)
	}
	total := 0
	for _, m := range regexp.MustCompile(`(?m)^\s+(\d+): [\d ]+$`).FindAllStringSubmatch(raw.stdout, -1) {
		n, _ := strconv.Atoi(m[1])
		total += n
	}
	threads := len(threadsOf(a.pid)) + len(threadsOf(b.pid))
	if total != threads {
		t.Errorf("samples of %d threads, want %d\n%s", total, threads, raw.stdout)
	}
	for _, want := range []string{"process:[threads]", "process_id:[" + strconv.Itoa(a.pid) + "]", "descend",
		"threads.c:"} {
		if !strings.Contains(raw.stdout, want) {
			t.Errorf("no %q in\n%s", want, raw.stdout)
		}
	}
	top := execute(t, bound, tool, "tool", "pprof", "-top", file)
	if !strings.HasPrefix(top.stdout, "File: threads\n") {
		t.Errorf("pprof takes another file for the main program: %.60s", top.stdout)
	}
	if top.status != 0 || !strings.Contains(top.stdout,
		fmt.Sprintf("Showing nodes accounting for %d, 100%% of %d total", threads, threads)) {
		t.Errorf("pprof -top: status %d\n%s%s", top.status, top.stdout, top.stderr)
	}
	only := execute(t, bound, tool, "tool", "pprof", "-top", "-tagfocus", fmt.Sprintf("process_id=^%d$", a.pid), file)
	if n := len(threadsOf(a.pid)); !strings.Contains(only.stdout, fmt.Sprintf("Showing nodes accounting for %d,", n)) {
		t.Errorf("pprof by process: want %d threads\n%s", n, only.stdout)
	}
}

// TestPprofDumpNeverOnATerminal: it is no text.
func TestPprofDumpNeverOnATerminal(t *testing.T) {
	script := installed(t, "script")
	pid := sleeper(t)
	for _, output := range []string{"", " -o -"} {
		o := execute(t, bound, script, "-q", "-e", "-c", fpstack+" -f pprof -p "+pid+output, "/dev/null")
		if o.status != 64 || !strings.Contains(o.stdout, "standard output is a terminal") {
			t.Errorf("%q: status %d, %q; want 64 and the reason", output, o.status, o.stdout)
		}
	}
	if o := show(t, "-f", "pprof", "-p", pid); o.status != 0 || !strings.HasPrefix(o.stdout, "\x1f\x8b") {
		t.Errorf("into a pipe: status %d, %.10q; want 0 and gzip", o.status, o.stdout)
	}
}

// gdbFrame is a frame as gdb prints it: number, perhaps an address, function.
var gdbFrame = regexp.MustCompile(`^#(\d+) +(?:(0x[0-9a-f]{16}) in )?(.+) \(\) (?:at|from) \S`)

// TestGDBDump: the threads of gdb's form are those of the JSON, with the same frames.
func TestGDBDump(t *testing.T) {
	for _, name := range []string{"threads", "threads-rust", "threads-go"} {
		t.Run(name, func(t *testing.T) {
			p := runTarget(t, name, "3", "10")
			d := dumpJSON(t, p.pid)
			out := text(t, "-p", strconv.Itoa(p.pid), "-f", "gdb")
			parts := strings.Split(out, "\nThread ")[1:]
			if len(parts) != len(d.Threads) {
				t.Fatalf("%d threads, want %d\n%s", len(parts), len(d.Threads), out)
			}
			for _, part := range parts {
				head, stack, _ := strings.Cut(part, "\n")
				var number, tid int
				if _, err := fmt.Sscanf(head, "%d (LWP %d ", &number, &tid); err != nil {
					t.Fatalf("heading %q: %v", head, err)
				}
				var got []string
				for line := range strings.Lines(stack) {
					m := gdbFrame.FindStringSubmatch(line)
					if m == nil || m[1] != strconv.Itoa(len(got)) {
						t.Errorf("line %q is no frame %d of gdb's", line, len(got))
						continue
					}
					got = append(got, m[3])
				}
				if want := d.thread(t, tid).functions(); name != "threads-go" && !slices.Equal(got, want) {
					t.Errorf("thread %d: got %q\nwant %q", tid, got, want)
				}
			}
		})
	}
}

// TestStackcollapse gives the dump to the program that most log readers were made after.
func TestStackcollapse(t *testing.T) {
	collapse := os.Getenv("STACKCOLLAPSE_GDB")
	if collapse == "" {
		t.Skip("STACKCOLLAPSE_GDB does not name stackcollapse-gdb.pl; its grammar is held in package report")
	}
	p := runTarget(t, "threads", "3", "10")
	file := filepath.Join(room(t), "stacks")
	if o := show(t, "-p", strconv.Itoa(p.pid), "-f", "gdb", "-o", file); o.status != 0 {
		t.Fatal(o.stderr)
	}
	o := execute(t, bound, "perl", collapse, file)
	if total := len(threadsOf(p.pid)); o.status != 0 || !strings.Contains(o.stdout, "main") ||
		sum(readFolded(t, o.stdout)) != total {
		t.Errorf("status %d, want %d stacks\n%s%s", o.status, total, o.stdout, o.stderr)
	}
}

func sum(counts map[string]int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}
