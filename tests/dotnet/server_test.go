//go:build linux

package dotnet

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/walked"
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
	*walked.Process
	in       io.Writer
	out      *bufio.Reader
	requests int
	end      func()
}

// startWaiting starts a command that is killed when the test ends.
func startWaiting(t testing.TB, cmd *exec.Cmd) *server {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(cmd); err != nil {
		t.Fatal(err)
	}
	s := &server{in: in, out: bufio.NewReaderSize(out, 1<<20), end: func() { cmd.Process.Kill(); cmd.Wait() }}
	t.Cleanup(func() { s.end() })
	return s
}

// open traces the process of cmd.
func (s *server) open(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	s.Process = walked.Open(t, cmd.Process.Pid, walked.Options{Names: resolve.Options{NoLines: true}})
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
	s := startWaiting(t, cmd)
	s.ask(`"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}`)
	if _, err := s.out.ReadString('\n'); err != nil {
		t.Fatalf("the server of .NET %s says nothing: %v", version, err)
	}
	fmt.Fprintln(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.open(t, cmd)
	return s
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
