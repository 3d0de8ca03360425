//go:build linux

package hang

import (
	"errors"
	"flag"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

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
	file, err := filepath.Abs("../../hang/testdata/" + strings.ReplaceAll(name, " ", "-") + ".gob.gz")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(*recorder, "-test.run", "TestRecordCase", "-case.pid", strconv.Itoa(pid), "-case.out",
		file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// begin starts the job, and returns when it says that it hangs.
func (j *job) begin(t *testing.T) int {
	t.Helper()
	p := harness.Program{Files: j.files, Argv: j.argv, Input: j.input, Hurry: j.hurry, Ready: j.ready}
	if j.before != nil {
		p.Start = func(_ testing.TB, dir string) { j.before(t, dir) }
	}
	return p.Begin(t)
}
