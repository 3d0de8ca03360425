//go:build linux

package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bound is how long one run of a program may take. It is there for what would never end: on a machine
// that is busy with others a compiler, or go tool pprof, which go builds where it is first used,
// takes a minute.
const bound = 2 * time.Minute

// outcome is what a run of a command left behind.
type outcome struct {
	status         int
	stdout, stderr string
	peak           int64 // of resident memory, in bytes
}

// execute runs cmd, which must end within limit.
func execute(t testing.TB, limit time.Duration, name string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = patience // what is left in its pipes has to be read
	cmd.Env = append(cmd.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C.UTF-8")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if ctx.Err() != nil {
		t.Fatalf("%s %q did not end in %v\n%s", name, args, limit, stderr.Bytes())
	} else if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), int64(usage.Maxrss) << 10}
}

// show runs fpstack. Whatever it is given, it does not panic and does not die by a signal.
func show(t testing.TB, args ...string) outcome {
	t.Helper()
	o := execute(t, bound, fpstack, args...)
	checkEnd(t, o, args)
	return o
}

func checkEnd(t testing.TB, o outcome, args []string) {
	t.Helper()
	if o.status < 0 || strings.Contains(o.stderr, "goroutine ") || strings.Contains(o.stderr, "panic") {
		t.Fatalf("fpstack %q: status %d, standard error:\n%s", args, o.status, o.stderr)
	}
}

// dump is what the tests want of a document of docs/schema.
type dump struct {
	Process struct {
		PID     int
		Comm    string
		Cmdline []string
		Exe     string
		Arch    string
	}
	Threads  []thread
	Modules  []moduleOfDump
	Exited   int
	Problems []string
}

type moduleOfDump struct {
	Path      string
	BuildID   string `json:"build_id"`
	Base      string
	Error     string
	DebugFile string `json:"debug_file"`
	Unread    string
}

type thread struct {
	TID        int
	Name       string
	State      string
	NotStopped string `json:"not_stopped"`
	Syscall    *struct{ Name string }
	Stack      struct {
		Complete     bool
		Stop, Detail string
		Frames       []frame
	}
}

type frame struct {
	Index             int
	Address           string
	Inlined           bool
	Interrupted       bool
	Kind              string
	Function, Linkage string
	Offset            string
	File              string
	Line              int
	Module            *int
	ModuleAddress     string `json:"module_address"`
	Origin, Note      string
}

// dumpJSON runs fpstack on process pid and reads its JSON. The whole must have been shown.
func dumpJSON(t testing.TB, pid int, args ...string) *dump {
	t.Helper()
	d, o := tryJSON(t, pid, args...)
	if d == nil || o.status != 0 {
		t.Fatalf("fpstack -p %d %q: status %d\n%s", pid, args, o.status, o.stderr)
	}
	return d
}

// tryJSON runs fpstack on process pid; the dump is nil if it shows none.
func tryJSON(t testing.TB, pid int, args ...string) (*dump, outcome) {
	t.Helper()
	o := show(t, append([]string{"-p", strconv.Itoa(pid), "-f", "json"}, args...)...)
	ds := decode(t, o.stdout)
	if len(ds) == 0 {
		return nil, o
	}
	return ds[0], o
}

// decode reads the documents one behind the other in text.
func decode(t testing.TB, text string) []*dump {
	t.Helper()
	var ds []*dump
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var d dump
		if err := dec.Decode(&d); errors.Is(err, io.EOF) {
			return ds
		} else if err != nil {
			t.Fatalf("JSON of fpstack: %v", err)
		}
		ds = append(ds, &d)
	}
}

// thread finds the thread tid.
func (d *dump) thread(t testing.TB, tid int) *thread {
	t.Helper()
	for i := range d.Threads {
		if d.Threads[i].TID == tid {
			return &d.Threads[i]
		}
	}
	t.Fatalf("no thread %d in the dump of process %d", tid, d.Process.PID)
	return nil
}

// functions lists the names of the frames, "?" where there is none.
func (th *thread) functions() []string {
	names := make([]string, len(th.Stack.Frames))
	for i, f := range th.Stack.Frames {
		names[i] = f.Function
		if f.Function == "" {
			names[i] = "?"
		}
	}
	return names
}

// value reads a number of the schema's form.
func value(hex string) uint64 {
	v, err := strconv.ParseUint(hex, 0, 64)
	if err != nil {
		panic(fmt.Sprintf("number %q: %v", hex, err))
	}
	return v
}
