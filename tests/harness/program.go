package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Program is a command that a test starts in a folder and a session of its own, and that says when it is where the test
// wants it. Its standard output and error go to the file out there.
type Program struct {
	Files map[string]string // in its folder, by their paths; sources of C, C++ and Go are compiled there
	Argv  []string
	Env   []string                           // besides that of the tests
	Input bool                               // its standard input is a pipe that somebody holds
	Hurry bool                               // a busy machine must not starve it
	Ready string                             // what it writes when it is there
	Start func(t testing.TB, dir string)     // what runs beside it, started before it
	Then  func(t testing.TB, dir string) int // started when it is ready; a process id other than 0 takes its place

	Dir string // set by Begin
}

// Begin starts the program, returns its process id when it is ready, and ends what works in its folder with the test.
func (p *Program) Begin(t testing.TB) int {
	t.Helper()
	cmd := p.Command(t, p.Argv)
	// Appending: the program may write to the file by its name, too.
	out, err := os.OpenFile(filepath.Join(p.Dir, "out"), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if p.Input {
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	if err := Start(cmd); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if p.Hurry { // a session is a group of the scheduler by itself: sched(7)
		os.WriteFile("/proc/"+strconv.Itoa(pid)+"/autogroup", []byte("-19"), 0)
		syscall.Setpriority(syscall.PRIO_PROCESS, pid, -19)
	}
	t.Cleanup(func() {
		EndAll(p.Dir)
		cmd.Wait()
	})
	Await(t, filepath.Join(p.Dir, "out"), p.Ready)
	if p.Then != nil {
		if other := p.Then(t, p.Dir); other != 0 {
			pid = other
		}
	}
	time.Sleep(time.Second) // it says so just before it is there
	return pid
}

// Command makes the folder with its files, starts what runs beside the program, and returns argv as a command there.
// What works in the folder is ended with the test.
func (p *Program) Command(t testing.TB, argv []string) *exec.Cmd {
	t.Helper()
	p.Dir = t.TempDir()
	for name, text := range p.Files {
		file := filepath.Join(p.Dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name := range p.Files {
		build(t, filepath.Join(p.Dir, name))
	}
	t.Cleanup(func() { EndAll(p.Dir) })
	if p.Start != nil {
		p.Start(t, p.Dir)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = p.Dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod", "PYTHONUNBUFFERED=", "MAKEFLAGS="), p.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// build compiles a source file beside itself, and leaves others alone: those of a Go module too.
func build(t testing.TB, file string) {
	t.Helper()
	out := strings.TrimSuffix(file, filepath.Ext(file))
	var argv []string
	switch filepath.Ext(file) {
	case ".c":
		argv = []string{"gcc", "-g", "-O1", "-pthread", "-o", out, file}
	case ".cc":
		argv = []string{"g++", "-g", "-O1", "-pthread", "-o", out, file}
	case ".go":
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "go.mod")); err == nil {
			return
		}
		argv = []string{"go", "build", "-o", out, file}
	default:
		return
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = filepath.Dir(file)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
}

// Await waits until a file has the text ready.
func Await(t testing.TB, file, ready string) {
	t.Helper()
	var text []byte
	for range 2400 {
		text, _ = os.ReadFile(file)
		if text != nil && strings.Contains(string(text), ready) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s never had %q; it has %q", filepath.Base(file), ready, text)
}

// EndAll ends every process that works in a folder or below it: those that left their session too.
func EndAll(dir string) {
	for range 3 {
		all, _ := filepath.Glob("/proc/[0-9]*")
		for _, p := range all {
			cwd, err := os.Readlink(p + "/cwd")
			pid, _ := strconv.Atoi(filepath.Base(p))
			if err == nil && pid > 1 && pid != os.Getpid() && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}
