//go:build linux

package run

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// held is a program of which cores are made: threads that wait for each other, much memory, many mappings.
const held = `
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int number = 4711;
__attribute__((noinline)) static void *deposit(void *x) { pthread_mutex_lock(&lock); return x; }
static void *again(void *x) {
	for (;;) mmap(0, 4096, PROT_READ | (number++ & 1 ? PROT_WRITE : 0), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return x;
}
static void fill(const char *word, size_t size, int advice) {
	char *p = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < size; i += 4096) sprintf(p + i, "%s-%zu", word, i / 4096);
	madvise(p, size, advice);
}
int main(int argc, char **argv) {
	int threads = atoi(argv[1]);
	size_t megabytes = atoi(argv[2]);
	pthread_t t;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < threads; i++) {
		pthread_attr_t a;
		pthread_attr_init(&a);
		pthread_attr_setstacksize(&a, 64 << 10);
		pthread_create(&t, &a, deposit, 0);
	}
	fill("shown", megabytes << 20, MADV_DODUMP);
	fill("hidden", 1 << 20, MADV_DONTDUMP);
	if (argc > 3 && !strcmp(argv[3], "maps")) pthread_create(&t, 0, again, 0);
	usleep(100000);
	puts("ready");
	fflush(stdout);
	for (;;) pause();
}
`

// coreOf is one of hang.json.
type coreOf struct {
	PID     int    `json:"pid"`
	File    string `json:"file"`
	Written int64  `json:"written_bytes"`
	Left    int64  `json:"left_out_bytes"`
	Stopped int64  `json:"stopped_ns"`
	Problem string `json:"problem"`
}

// keepCores runs the program with arguments until it is ready and ends the job by SIGTERM. It returns what hang.json
// says of the cores, and what was written to the log.
func keepCores(t *testing.T, dir string, before []string, options string, args ...string) ([]coreOf, string) {
	t.Helper()
	command := append(before, fpstack, "run", "--grace", "30", "--report", dir+"/report",
		"--core")
	command = append(append(command, strings.Fields(options)...), "--")
	j := start(t, nil, command[0], append(command[1:], args...)...)
	await(t, "it is ready", func() bool { return strings.Contains(j.text(t), "ready\n") })
	syscall.Kill(fpstackIn(t, j), syscall.SIGTERM)
	out, state := j.end(t)
	if before == nil && state.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("it ended as %v\n%s", state, out)
	}
	var doc struct{ Cores []coreOf }
	text, err := os.ReadFile(dir + "/report/hang.json")
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return doc.Cores, out
}

func compiled(t *testing.T) string {
	t.Helper()
	return harness.Compile(t, "gcc", "held.c", held, "held", "-g", "-O1", "-pthread")
}

// fpstackIn is fpstack itself, which a shell has become or started.
func fpstackIn(t *testing.T, j *job) int {
	t.Helper()
	pid := j.Process.Pid
	if exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); exe == fpstack {
		return pid
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(pid) + "/children")
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return child
}

// TestCore: the core of a process is read by us, by gdb and by elfutils, and they name the same functions.
func TestCore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	held := compiled(t)
	cores, out := keepCores(t, dir, nil, "", held, "3", "4")
	if len(cores) != 1 || cores[0].Problem != "" || cores[0].Written < 4<<20 || cores[0].Stopped <= 0 {
		t.Fatalf("cores %+v\n%s", cores, out)
	}
	core := filepath.Join(dir, "report", cores[0].File)
	info, err := os.Stat(core)
	if err != nil || info.Mode() != 0o600 || !strings.Contains(out, "1 core in "+filepath.Dir(core)) {
		t.Errorf("%v, %v\n%s", info.Mode(), err, out)
	}
	for _, tt := range []struct {
		tools   []string
		command string
		words   map[string]int // and how often at least
	}{
		{nil, fpstack + " " + core, map[string]int{" deposit ": 1, "3 threads": 1, " main ": 1, "held.c:": 2}},
		{[]string{"gdb"}, "gdb -batch -ex 'thread apply all bt' -ex 'info sharedlibrary' -ex 'print number' -ex " +
			"'info registers rip' " + held + " " + core,
			map[string]int{"in deposit (": 3, "in main (": 1, "libc.so.6": 1, "= 4711": 1, "rip ": 1}},
		{[]string{"eu-stack"}, "eu-stack --core " + core + " --executable " + held,
			map[string]int{" deposit": 3, " main": 1, "TID ": 4}},
		{[]string{"readelf"}, "readelf -n " + core, map[string]int{"NT_PRSTATUS": 4, "NT_FPREGSET": 4,
			"NT_AUXV": 1, "NT_FILE": 1, "NT_PRPSINFO": 1}},
	} {
		harness.Need(t, tt.tools...)
		got, err := exec.Command("sh", "-c", tt.command).CombinedOutput()
		for word, n := range tt.words {
			if have := strings.Count(string(got), word); have < n {
				t.Errorf("%s\n%v: %q is there %d times, want %d:\n%s", tt.command, err, word, have, n, got)
			}
		}
	}
	bytes, err := os.ReadFile(core)
	if err != nil || !strings.Contains(string(bytes), "shown-1023\x00") || strings.Contains(string(bytes), "hidden-1") {
		t.Errorf("memory that is to be there is not, or what MADV_DONTDUMP leaves out is (%v)", err)
	}
}

// TestCoreOfManyThreads: all are in it, and so is a process that maps memory without an end.
func TestCoreOfManyThreads(t *testing.T) {
	t.Parallel()
	held := compiled(t)
	for _, args := range [][]string{{"1000", "1"}, {"3", "1", "maps"}} {
		dir := t.TempDir()
		cores, out := keepCores(t, dir, nil, "", append([]string{held}, args...)...)
		if len(cores) != 1 || cores[0].File == "" || cores[0].Problem != "" {
			t.Fatalf("%q: cores %+v\n%s", args, cores, out)
		}
		core := filepath.Join(dir, "report", cores[0].File)
		got, err := exec.Command(fpstack, core).CombinedOutput()
		if text := string(got); err != nil || !strings.Contains(text, " deposit ") ||
			!strings.Contains(text, args[0]+" threads") {
			t.Errorf("%q: %v\n%.3000s", args, err, got)
		}
	}
}

// TestCoreIsCut: a limit, a disk that is nearly full and a time that is over leave a whole core of what was copied.
func TestCoreIsCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		disk    string // size of a file system of its own, "" for none
		options string
		problem string
		most    int64
	}{
		{"limit", "", "--core-limit 2M", "--core-limit is reached", 2 << 20},
		{"disk", "24m", "", "a tenth of the disk, at most 1 GB, is left free", 22 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if tt.disk != "" {
				if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+tt.disk); err != nil {
					t.Skipf("no file system can be mounted: %v", err)
				}
				t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
			}
			cores, out := keepCores(t, dir, nil, tt.options, compiled(t), "3", "40")
			if len(cores) != 1 || !strings.Contains(cores[0].Problem, tt.problem) || cores[0].Left < 15<<20 ||
				cores[0].Written > tt.most || !strings.Contains(out, tt.problem) {
				t.Fatalf("cores %+v\n%s", cores, out)
			}
			var fs syscall.Statfs_t
			if err := syscall.Statfs(dir, &fs); err != nil || tt.disk != "" && fs.Bfree*12 < fs.Blocks {
				t.Errorf("%d of %d blocks are free (%v)", fs.Bfree, fs.Blocks, err)
			}
			core := filepath.Join(dir, "report", cores[0].File)
			got, err := exec.Command(fpstack, core).CombinedOutput()
			if err != nil || strings.Count(string(got), " deposit ") == 0 || strings.Contains(string(got), "cut") {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
}

// TestCoreCannotBeWritten: a limit of file sizes leaves no part of a core, and the job ends as ever.
func TestCoreCannotBeWritten(t *testing.T) {
	t.Parallel()
	const problem = "file too large"
	dir := t.TempDir()
	cores, out := keepCores(t, dir, []string{"bash", "-c", `ulimit -f 4000; exec "$@"`, "bash"}, "",
		compiled(t), "3", "300")
	if len(cores) != 1 || !strings.Contains(cores[0].Problem, problem) || !strings.Contains(out, problem) {
		t.Errorf("cores %+v\n%s", cores, out)
	}
	if left, _ := filepath.Glob(dir + "/report/processes/*core*"); len(left) > 0 && cores[0].File == "" {
		t.Errorf("files %q are left", left)
	}
}

// TestKilledDuringCore: fpstack that is killed while it writes a core leaves no part of it, and no thread stopped.
func TestKilledDuringCore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := start(t, nil, fpstack, "run", "--report", dir+"/report", "--core", "--", compiled(t), "3", "600")
	await(t, "it is ready", func() bool { return strings.Contains(j.text(t), "ready\n") })
	j.Process.Signal(syscall.SIGTERM)
	var pid string
	await(t, "the core is written", func() bool {
		found, _ := filepath.Glob(dir + "/report/processes/*-held.txt")
		if len(found) == 0 {
			return false
		}
		pid, _, _ = strings.Cut(filepath.Base(found[0]), "-")
		return writesLargeFile(j.Process.Pid)
	})
	j.Process.Kill()
	j.end(t)
	n, _ := strconv.Atoi(pid)
	defer syscall.Kill(n, syscall.SIGKILL)
	await(t, "the process sleeps", func() bool {
		status, err := os.ReadFile("/proc/" + pid + "/status")
		return err == nil && strings.Contains(string(status), "\nState:\tS") &&
			strings.Contains(string(status), "\nTracerPid:\t0")
	})
	if left, _ := filepath.Glob(dir + "/report/processes/*core*"); len(left) > 0 {
		t.Errorf("files %q are left", left)
	}
}

// writesLargeFile reports whether a process has a file open that has no name and more than a megabyte.
func writesLargeFile(pid int) bool {
	found, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	for _, fd := range found {
		link, _ := os.Readlink(fd)
		info, err := os.Stat(fd)
		if err == nil && strings.HasSuffix(link, " (deleted)") && info.Mode().IsRegular() && info.Size() > 1<<20 {
			return true
		}
	}
	return false
}

// Cores have no place without a report.
func TestCoreWithoutReport(t *testing.T) {
	t.Parallel()
	j := start(t, nil, fpstack, "run", "--core", "--", "true")
	if out, state := j.end(t); state.ExitCode() != 64 || !strings.Contains(out, "--core without --report") {
		t.Errorf("status %d: %s", state.ExitCode(), out)
	}
}
