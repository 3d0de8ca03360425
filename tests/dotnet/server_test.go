//go:build linux && amd64

package dotnet

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

const fetched = "../../testdata/bin/dotnet"

// program is how a server of a version of the runtime is started.
type program struct {
	name      string
	arguments []string
}

// programs are those that scripts/build-dotnet gets, by version of their runtime.
var programs = map[string]program{
	"8.0.30":  {"powerbi-modeling-mcp", []string{"--start"}},
	"9.0.1":   {"azmcp", []string{"server", "start"}},
	"9.0.5":   {"azmcp", []string{"server", "start"}},
	"9.0.7":   {"azmcp", []string{"server", "start"}},
	"10.0.9":  {"azmcp", []string{"server", "start"}},
	"10.0.11": {"fabmcp", []string{"server", "start"}},
}

// versions lists the runtimes that are there.
func versions(t testing.TB) []string {
	t.Helper()
	var out []string
	for version, p := range programs {
		if _, err := os.Stat(filepath.Join(fetched, version, p.name)); err == nil {
			out = append(out, version)
		}
	}
	if len(out) == 0 {
		t.Skip("no program of .NET is there: scripts/build-dotnet gets them")
	}
	return out
}

// server is a program of .NET that answers requests on its standard input, one after the other.
type server struct {
	*tracer.Process
	in       io.Writer
	out      *bufio.Reader
	requests int
	set      *module.Set
	runtimes *vm.Process
	names    *resolve.Names
	walker   *unwind.Walker
	end      func()
}

// starts are calls for a thread that stays as long as the tests: what is started to end with its thread ends with them.
var starts = func() chan func() {
	calls := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range calls {
			f()
		}
	}()
	return calls
}()

// startLasting starts a command on that thread.
func startLasting(cmd *exec.Cmd) error {
	started := make(chan error)
	starts <- func() { started <- cmd.Start() }
	return <-started
}

// start starts the server of a version with variables of its environment, and waits until it answers.
func start(t testing.TB, version string, environment ...string) *server {
	t.Helper()
	p := programs[version]
	path, err := filepath.Abs(filepath.Join(fetched, version, p.name))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, p.arguments...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(append(os.Environ(), "AZURE_MCP_COLLECT_TELEMETRY=false", "HOME="+cmd.Dir,
		"DOTNET_BUNDLE_EXTRACT_BASE_DIR="+cmd.Dir, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1"), environment...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s := &server{}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := startLasting(cmd); err != nil {
		t.Fatal(err)
	}
	s.end = func() { cmd.Process.Kill(); cmd.Wait() }
	t.Cleanup(func() { s.end() })
	s.in, s.out = in, bufio.NewReaderSize(out, 1<<20)
	s.ask(`"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}`)
	if _, err := s.out.ReadString('\n'); err != nil {
		t.Fatalf("the server of .NET %s says nothing: %v", version, err)
	}
	fmt.Fprintln(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if s.Process, err = tracer.Open(cmd.Process.Pid, tracer.Options{}); err != nil {
		t.Skipf("the server cannot be looked into: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	s.look(t)
	return s
}

// look reads modules and runtimes of the process.
func (s *server) look(t testing.TB) {
	t.Helper()
	table, err := s.Maps()
	if err != nil {
		t.Fatal(err)
	}
	image := s.Image()
	s.set, s.runtimes = module.NewSet(table, image), vm.NewTable(vm.Kinds).Process(image)
	t.Cleanup(func() { s.set.Close() })
	s.runtimes.Scan(s.set)
	s.names = resolve.New(s.set, resolve.Options{NoLines: true})
	s.walker = unwind.NewWalker(s.set, s.names)
	s.walker.Use(s.runtimes)
}

// ask writes a request.
func (s *server) ask(rest string) error {
	s.requests++
	_, err := fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", s.requests, rest)
	return err
}

// work keeps the server busy until it ends: two requests are always with it.
func (s *server) work() {
	s.ask(`"method":"tools/list"`)
	for s.ask(`"method":"tools/list"`) == nil {
		if _, err := s.out.ReadString('\n'); err != nil {
			return
		}
	}
}

// stop takes one snapshot of all threads.
func (s *server) stop(t testing.TB) *snapshot.Snapshot {
	t.Helper()
	shot, err := s.Snapshot(t.Context(), tracer.StopOptions{Copiers: s.runtimes.Copiers()})
	if err != nil {
		t.Fatal(err)
	}
	s.set.Update(shot.Maps)
	s.walker.Renew()
	return shot
}

// stacks walks and names the threads of a snapshot.
func (s *server) stacks(shot *snapshot.Snapshot) []profile.Stack {
	stacks := make([]profile.Stack, len(shot.Threads))
	for i := range shot.Threads {
		th := &shot.Threads[i]
		walked := s.walker.Walk(th, shot.Reader(th, s.Process), unwind.Options{})
		stacks[i] = s.names.Stack(&walked)
	}
	return stacks
}

// pause lets the server run for a while that is not always the same.
func pause(i int) { time.Sleep(time.Duration(500+i*7919%1500) * time.Microsecond) }
