//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// user is a plain user's id; the machine has no name for it.
const user = 1000

// result is what a command that ended left.
type result struct {
	status      int
	out, errors string
	took        time.Duration // monotonic
}

func (r result) String() string {
	const most = 3000 // of each, as what comes first says most
	return fmt.Sprintf("status %d after %.2f s\nstdout: %.*s\nstderr: %.*s", r.status, r.took.Seconds(), most, r.out,
		most, r.errors)
}

// wants says how r differs from a status and words on standard error or standard output.
func (r result) wants(status int, words ...string) error {
	if r.status != status {
		return fmt.Errorf("want status %d\n%v", status, r)
	}
	for _, w := range words {
		if !strings.Contains(r.errors+r.out, w) {
			return fmt.Errorf("want %q\n%v", w, r)
		}
	}
	return nil
}

// as runs a command as a user, for two minutes at most.
func as(uid int, name string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Dir = "/tmp"
	cmd.Env = append(os.Environ(), "INVOCATION_ID=") // remedies are those for a shell
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	}
	begin := time.Now()
	err := cmd.Run()
	r := result{cmd.ProcessState.ExitCode(), out.String(), errs.String(), time.Since(begin)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.errors += err.Error()
	}
	return r
}

// root runs a command as root.
func root(name string, args ...string) result { return as(0, name, args...) }

// target is a program that is sampled.
type target struct {
	cmd  *exec.Cmd
	name string
}

func (t *target) pid() int { return t.cmd.Process.Pid }

func (t *target) id() string { return fmt.Sprint(t.pid()) }

func (t *target) end() {
	_ = t.cmd.Process.Kill() // it may have ended
	_ = t.cmd.Wait()         // killed, as it should be
}

// start starts a copy of a target's file under a name of its own, as a user, and waits until it is ready.
func (m *machine) start(uid int, name, file string, args ...string) (*target, error) {
	dir, err := os.MkdirTemp("/tmp", "")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	image, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(path, image, 0o755), os.Chmod(dir, 0o755)); err != nil {
		return nil, err
	}
	t := &target{exec.Command(path, args...), name}
	t.cmd.SysProcAttr = &syscall.SysProcAttr{}
	if uid != 0 {
		t.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}
	}
	return t, t.begin()
}

// begin starts it with a standard input that stays open, and reads the line by which it says that it is ready.
func (t *target) begin() error {
	if _, err := t.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := t.cmd.Start(); err != nil {
		return err
	}
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		return fmt.Errorf("wait for %s: %w", t.name, err)
	}
	go io.Copy(io.Discard, out)
	return nil
}

// service is an fpstack that runs on, and what it says.
type service struct {
	cmd   *exec.Cmd
	mu    sync.Mutex
	text  strings.Builder
	ended chan struct{}
}

func (s *service) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *service) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (m *machine) serve(args ...string) (*service, error) {
	s := &service{cmd: exec.Command(m.fpstack(), args...), ended: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = s, s
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = s.cmd.Wait(); close(s.ended) }() // its status is read from its state
	return s, nil
}

// stop sends it a signal and gives its status, -1 if it does not end within half a minute.
func (s *service) stop(signal os.Signal) int {
	_ = s.cmd.Process.Signal(signal) // it may have ended
	select {
	case <-s.ended:
		return s.cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill() // it may have ended meanwhile
		<-s.ended
		return -1
	}
}

// await waits until f holds, for a time of the monotonic clock at most.
func await(limit time.Duration, f func() bool) bool {
	for end := time.Now().Add(limit); !f(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// letAnybodyTrace has anybody trace this process, and becomes another program: that stays.
func letAnybodyTrace(command []string) error {
	if err := unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0); err != nil { // PR_SET_PTRACER_ANY
		return fmt.Errorf("prctl(PR_SET_PTRACER): %w", err)
	}
	return unix.Exec(command[0], command, os.Environ())
}
