//go:build linux

package hang

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// recorder is a test binary of the room cmd, which records the cases that hang/testdata has.
var recorder = flag.String("recorder", "", "record each case by this test `binary` of ./cmd")

// all adds the jobs that take a CPU for all of the time, or long to start. What is said of them is held by
// recorded cases too.
var all = flag.Bool("all", false, "also the jobs that take much of the machine")

// job is a command that is looked at, and what must be said of it.
type job struct {
	name   string
	needs  []string          // tools
	files  map[string]string // in its folder; C and C++ are compiled there
	argv   []string
	input  bool // its standard input is a pipe that somebody holds
	large  bool // see all
	hurry  bool // a busy machine must not starve it
	ready  string
	before func(t *testing.T, dir string) // what runs beside it
	status int
	want   string // regular expression of the first line; P stands for a process id
}

// Exit statuses of fpstack hang.
const (
	moving, hung, unknown = 0, 3, 4
)

func TestHang(t *testing.T) {
	for _, j := range jobs {
		t.Run(j.name, func(t *testing.T) {
			if j.large && !*all {
				t.Skip("takes much of the machine: -all")
			}
			t.Parallel()
			harness.Need(t, j.needs...)
			pid := j.begin(t)
			if *recorder != "" {
				record(t, j.name, pid)
				return
			}
			first, text, status := judge(t, pid)
			want := regexp.MustCompile("^" + strings.ReplaceAll(j.want, "(P)", `\(\d+\)`) + "$")
			if !want.MatchString(first) || status != j.status {
				t.Errorf("got status %d and\n%s\nwant %d and\n%s\nin all:\n%s", status, first, j.status, want, text)
			}
		})
	}
}

// judge runs fpstack hang on a process.
func judge(t *testing.T, pid int) (first, text string, status int) {
	t.Helper()
	out, err := exec.Command(fpstack, "hang", "-p", strconv.Itoa(pid)).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		status = exit.ExitCode()
	}
	first, _, _ = strings.Cut(string(out), "\n")
	return first, string(out), status
}

func record(t *testing.T, name string, pid int) {
	t.Helper()
	file, err := filepath.Abs("../../hang/testdata/" + strings.ReplaceAll(name, " ", "-") + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(*recorder, "-test.run", "TestRecordCase", "-case.pid", strconv.Itoa(pid), "-case.out",
		file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// begin starts the job in a session of its own, and returns when it says that it hangs.
func (j *job) begin(t *testing.T) int {
	t.Helper()
	dir := t.TempDir()
	for name, text := range j.files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		compile(t, file)
	}
	if j.before != nil {
		j.before(t, dir)
	}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(j.argv[0], j.argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "PYTHONUNBUFFERED=", "MAKEFLAGS=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if j.input {
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	if j.hurry { // a session is a group of the scheduler by itself: sched(7)
		os.WriteFile("/proc/"+strconv.Itoa(cmd.Process.Pid)+"/autogroup", []byte("-19"), 0)
		syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, -19)
	}
	t.Cleanup(func() {
		endAll(dir)
		cmd.Wait()
	})
	j.await(t, dir)
	return cmd.Process.Pid
}

// compile compiles a C or C++ file beside itself.
func compile(t *testing.T, file string) {
	t.Helper()
	compiler := map[string]string{".c": "gcc", ".cc": "g++"}[filepath.Ext(file)]
	if compiler == "" {
		return
	}
	out := strings.TrimSuffix(file, filepath.Ext(file))
	if b, err := exec.Command(compiler, "-g", "-O1", "-pthread", "-o", out, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
}

// await waits until the job wrote that it is where it hangs, and a moment for it to be there.
func (j *job) await(t *testing.T, dir string) {
	t.Helper()
	for range 1200 {
		text, _ := os.ReadFile(filepath.Join(dir, "out"))
		if strings.Contains(string(text), j.ready) {
			time.Sleep(time.Second)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "out"))
	t.Fatalf("the job never wrote %q; it wrote %q", j.ready, text)
}

// endAll ends every process that works in a folder or below it: those that left their session too.
func endAll(dir string) {
	for range 3 {
		all, _ := filepath.Glob("/proc/[0-9]*")
		for _, p := range all {
			cwd, err := os.Readlink(p + "/cwd")
			pid, _ := strconv.Atoi(filepath.Base(p))
			if err == nil && pid > 1 && pid != os.Getpid() && strings.HasPrefix(cwd, dir) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}
