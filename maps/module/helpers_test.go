package module_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/tests/harness"
)

// compile builds source as name in a directory of the test.
func compile(t testing.TB, compiler, source, name string, options ...string) string {
	t.Helper()
	return harness.Compile(t, compiler, "x.c", source, name, options...)
}

// process is a started program that has written its first line.
type process struct {
	pid  int
	line string
}

// start runs a program that writes one line and then waits for its standard input to end.
func start(t testing.TB, name string, args ...string) process {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/PID/maps of Linux")
	}
	cmd := exec.Command(name, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("%s does not run here: %v", name, err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("read a line of %s: %v", name, err)
	}
	return process{cmd.Process.Pid, strings.TrimSpace(line)}
}

// procMem reads /proc/PID/mem.
type procMem struct{ file *os.File }

func (p procMem) ReadMem(b []byte, addr mem.Addr) (int, error) {
	n, err := io.ReadFull(io.NewSectionReader(p.file, int64(addr), int64(len(b))), b)
	if err != nil {
		return n, &mem.FaultError{Addr: addr + mem.Addr(n), Len: len(b) - n, Err: err}
	}
	return n, nil
}

// openFile is an Opener for processes that see the same files as the test.
func openFile(m *maps.Mapping) (*module.File, error) {
	if m.Deleted {
		return nil, fmt.Errorf("open %q: %w", m.Path, os.ErrNotExist)
	}
	b, err := os.ReadFile(m.Path)
	if err != nil {
		return nil, err
	}
	return &module.File{Data: b, Path: m.Path}, nil
}

// set returns the modules of a live process and its memory.
func set(t testing.TB, pid int, open module.Opener) (*module.Set, procMem) {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := maps.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Skipf("memory of a child is not readable here: %v", err)
	}
	t.Cleanup(func() { memory.Close() })
	s := module.NewSet(table, module.Image{Mapping: open, Memory: procMem{memory}})
	t.Cleanup(func() { s.Close() })
	return s, procMem{memory}
}

// fileModule returns data as the only module of a process, mapped whole at addr.
func fileModule(data []byte, addr mem.Addr) (*module.Set, *module.Module) {
	end := addr + mem.Addr(max(len(data), 1)+0xfff)&^0xfff
	table := maps.NewTable([]maps.Mapping{{Start: addr, End: end, Perm: maps.Read | maps.Exec, Inode: 1, Path: "/x"}})
	open := func(m *maps.Mapping) (*module.File, error) { return &module.File{Data: data}, nil }
	s := module.NewSet(table, module.Image{Mapping: open})
	return s, s.Find(addr)
}
