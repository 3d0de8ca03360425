//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// cores compares what is shown of core files with eu-stack and gdb: one with a few threads, one with 1,001 and their
// stacks of 8 MB, which are holes for the most part, and one of node.
func (b *bench) cores() error {
	dir, err := os.MkdirTemp("", "bench-core")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	node, err := exec.LookPath("node")
	if err != nil {
		return err
	}
	crash, err := filepath.Abs(filepath.Join(b.live, "crash"))
	if err != nil {
		return err
	}
	threads, err := filepath.Abs(filepath.Join(b.live, "threads"))
	if err != nil {
		return err
	}
	for _, c := range []struct {
		what   string
		bound  float64 // of the time, against eu-stack
		rounds int
		argv   []string
	}{
		{"core of three threads", 2, b.rounds, []string{crash, "null"}}, // most of it is the start of a Go program
		{"core of 1,001 threads", 0.2, min(b.rounds, 5), []string{threads, "1000", "30"}},
		{"core of node", 1, b.rounds, []string{node, "-e", "setTimeout(process.abort, 100)"}},
	} {
		core, err := leaveCore(dir, c.argv)
		if err == nil {
			err = b.core(c.what, c.bound, c.rounds, c.argv[0], core)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
	}
	return nil
}

// core compares one.
func (b *bench) core(what string, bound float64, rounds int, program, core string) error {
	ours := []string{b.fpstack, core}
	for _, peer := range []struct {
		name   string
		bound  float64
		rounds int
		argv   []string
	}{
		{"eu-stack", bound, rounds, []string{"eu-stack", "-n", "0", "--core", core, "-e", program}},
		{"gdb", 1, min(rounds, 3), []string{"gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex",
			"thread apply all bt", program, core}},
	} {
		rs, err := contest(peer.rounds, ours, peer.argv)
		if err != nil {
			return err
		}
		row(what+", against "+peer.name, medianOf(rs[0], milliseconds), medianOf(rs[1], milliseconds), peer.bound, "ms")
		if err := memory(what+", beside "+peer.name, 0, ours, peer.argv); err != nil {
			return err
		}
	}
	return nil
}

// leaveCore runs a program that dies, or is killed when it is ready, and returns its core.
func leaveCore(dir string, argv []string) (string, error) {
	dir, err := os.MkdirTemp(dir, "")
	if err != nil {
		return "", err
	}
	c := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited && exec "$@"`, "sh"}, argv...)...)
	c.Dir = dir
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return "", err
	}
	late := time.AfterFunc(3*time.Second, func() { c.Process.Signal(syscall.SIGABRT) })
	defer late.Stop()
	_ = c.Wait() // it died by a signal
	cores, err := filepath.Glob(filepath.Join(dir, "core*"))
	if err == nil && len(cores) != 1 {
		err = errors.New("no core was left in its folder: see kernel.core_pattern")
	}
	if err != nil {
		return "", err
	}
	return cores[0], nil
}
