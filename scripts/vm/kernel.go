//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"
)

// kernel compares what this kernel allows to see with what that of the machine outside does.
func (m *machine) kernel() {
	var name unix.Utsname
	_ = unix.Uname(&name) // no error is known
	note("kernel %s", unix.ByteSliceToString(name.Release[:]))
	m.try("kernel/dump", m.compareFrames)
	m.try("kernel/dump --no-stop", m.noStop)
	m.try("kernel/dump --kernel", m.kernelStack)
	m.try("kernel/record", m.record)
	m.try("kernel/waits", m.waits)
	m.try("kernel/hang", m.hang)
	m.try("kernel/run", m.run)
	m.try("kernel/run passes on how a command ended", m.runSignal)
	m.try("kernel/frozen", m.frozen)
	m.try("kernel/doctor", func() error { return root(m.fpstack(), "doctor").wants(0) })
}

// noStop dumps without a stop: those without frame pointers may be cut, all threads must be copied.
func (m *machine) noStop() error {
	t, err := m.start(0, "quiet", m.file("bin/threads-fp"), "3", "4")
	if err != nil {
		return err
	}
	defer t.end()
	return root(m.fpstack(), "-p", t.id(), "--no-stop").wants(0, "nothing stopped", "descend", "bottom", "pause()")
}

func (m *machine) kernelStack() error {
	t, err := m.start(0, "quiet", m.file("bin/threads-static"), "1", "2")
	if err != nil {
		return err
	}
	defer t.end()
	return root(m.fpstack(), "-p", t.id(), "--kernel").wants(0, "kernel", "do_syscall_64")
}

// record records a busy program: nearly all of its time must be at its one function.
func (m *machine) record() error {
	t, err := m.start(0, "busy", m.file("bin/spin"), "5", "1")
	if err != nil {
		return err
	}
	defer t.end()
	used := -cpuOf(t.pid())
	r := root(m.fpstack(), "record", "-p", t.id(), "-d", "3", "-o", "/tmp/busy.pb.gz")
	used += cpuOf(t.pid())
	if err := r.wants(0); err != nil {
		return err
	}
	file, err := os.Open("/tmp/busy.pb.gz")
	if err != nil {
		return err
	}
	defer file.Close()
	p, err := pprof.Parse(file)
	if err != nil {
		return err
	}
	var all, at int64
	for i, kind := range p.SampleType {
		for _, s := range p.Sample {
			if kind.Type != "cpu" || len(s.Location) == 0 {
				continue
			}
			all += s.Value[i]
			if line := s.Location[0].Line; len(line) > 0 && line[0].Function.Name == "grind" {
				at += s.Value[i]
			}
		}
	}
	note("record: cpu %v, in grind %v, by the kernel %v", time.Duration(all), time.Duration(at), used)
	if all < int64(used/2) || all > int64(used) || float64(at) < 0.99*float64(all) {
		return fmt.Errorf("cpu %v of %v, in grind %v\n%v", time.Duration(all), used, time.Duration(at), r)
	}
	return nil
}

// waits shows a deadlock of two threads.
func (m *machine) waits() error {
	t, err := m.start(0, "locked", m.file("bin/locks"), "abba")
	if err != nil {
		return err
	}
	defer t.end()
	var r result
	if !await(10*time.Second, func() bool {
		r = root(m.fpstack(), "--waits", "-p", t.id())
		return r.status == 0 && strings.Contains(r.out, "deadlock")
	}) {
		return errors.New(r.String())
	}
	return nil
}

func (m *machine) hang() error {
	t, err := m.start(0, "locked", m.file("bin/locks"), "abba")
	if err != nil {
		return err
	}
	defer t.end()
	time.Sleep(time.Second) // both threads have to have their first lock
	return root(m.fpstack(), "hang", "-p", t.id()).wants(3, "deadlock")
}

func (m *machine) run() error {
	return root(m.fpstack(), "run", "--deadline", "2s", "--", m.file("bin/threads-static"), "1", "2").
		wants(124, "descend", "blocked")
}

// runSignal has a signal end a command, and a process below one. PIDFD_GET_INFO, by which run sees how others end, is
// not there before Linux 6.13: nothing may be said of that.
func (m *machine) runSignal() error {
	r := root(m.fpstack(), "run", "--deadline", "60s", "--", "sh", "-c", "kill -SEGV $$")
	if r.status != -1 && r.status != 128+int(unix.SIGSEGV) {
		return fmt.Errorf("want its signal\n%v", r)
	}
	// A grandchild, that its own parent reaps.
	r = root(m.fpstack(), "run", "--", "sh", "-c", "sh -c 'sleep 1; kill -SEGV $$'; exit 7")
	if strings.Contains(r.errors, "fpstack") {
		return fmt.Errorf("it says something\n%v", r)
	}
	return r.wants(7)
}

// frozen shows a program in a frozen control group.
func (m *machine) frozen() error {
	dir := "/sys/fs/cgroup/frozen"
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	t, err := m.start(0, "cold", m.file("bin/threads-fp"), "1", "2")
	if err != nil {
		return err
	}
	write := func(name, text string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644) }
	if err := errors.Join(write("cgroup.procs", t.id()), write("cgroup.freeze", "1")); err != nil {
		return err
	}
	defer func() { _ = write("cgroup.freeze", "0"); t.end() }() // what does not thaw ends with the machine
	time.Sleep(200 * time.Millisecond)
	if err := root(m.fpstack(), "--waits", "-p", t.id()).wants(0, "frozen"); err != nil {
		return err
	}
	return root(m.fpstack(), "-p", t.id()).wants(0, "descend")
}
