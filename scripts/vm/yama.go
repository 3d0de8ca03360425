//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

const scopeFile = "/proc/sys/kernel/yama/ptrace_scope"

// yama tries each scope, and 3 as the last: it stays until the machine is booted again.
func (m *machine) yama() {
	if err := m.copyGranted(); err != nil {
		m.try("yama/setup", func() error { return err })
		return
	}
	for scope := range 4 {
		if err := os.WriteFile(scopeFile, []byte(strconv.Itoa(scope)), 0o644); err != nil {
			m.try("yama/set", func() error { return err })
			return
		}
		for _, c := range m.yamaCases() {
			m.try(fmt.Sprintf("yama/%d/%s", scope, c.name), func() error { return c.run(scope) })
		}
	}
}

// granted is fpstack with CAP_SYS_PTRACE alone as a capability of its file.
const granted = "/usr/local/bin/fpstack-granted"

func (m *machine) copyGranted() error {
	image, err := os.ReadFile(m.fpstack())
	if err != nil {
		return err
	}
	if err := os.WriteFile(granted, image, 0o755); err != nil {
		return err
	}
	return root("/usr/sbin/setcap", "cap_sys_ptrace+ep", granted).wants(0)
}

// yamaCase is one way to sample.
type yamaCase struct {
	name string
	run  func(scope int) error
}

func (m *machine) yamaCases() []yamaCase {
	by := func(uid int, program string, kind string, least int) func(int) error {
		return func(scope int) error { return m.sampleUnder(uid, program, kind, scope, least) }
	}
	return []yamaCase{
		{"user, a process of its own", by(user, m.fpstack(), "plain", 1)},
		{"user, a process that lets anybody", by(user, m.fpstack(), "traceable", 2)},
		{"root", by(0, m.fpstack(), "plain", 3)},
		{"CAP_SYS_PTRACE of the file", by(user, granted, "plain", 3)},
		{"root, a process that lets anybody", by(0, m.fpstack(), "traceable", 3)},
		{"user, a command that it starts", func(scope int) error { return m.startUnder(user, scope, 2) }},
		{"root, a command that it starts", func(scope int) error { return m.startUnder(0, scope, 3) }},
		{"user, run", func(scope int) error { return m.runUnder(user, scope, 2) }},
		{"user, no process named", func(scope int) error { return m.doctorUnder(scope) }},
	}
}

// refusal is what a command that was refused says at each scope.
var refusal = map[int]string{1: "only an ancestor may attach", 2: "only CAP_SYS_PTRACE may attach",
	3: "Nobody may attach until the next boot"}

// sampleUnder dumps a process, and asks doctor for it: they are refused from scope closed on, with the same words.
func (m *machine) sampleUnder(uid int, program, kind string, scope, closed int) error {
	file, args := m.file("bin/threads-fp"), []string{"1", "2"}
	if kind == "traceable" {
		file, args = m.file("check"), append([]string{"-traceable", file}, args...)
	}
	t, err := m.start(user, "target", file, args...)
	if err != nil {
		return err
	}
	defer t.end()
	dump, doctor := as(uid, program, "-p", t.id()), as(uid, program, "doctor", "-p", t.id())
	quiet := as(uid, program, "-p", t.id(), "--no-stop")
	recorded := as(uid, program, "record", "-p", t.id(), "-d", "1", "-f", "folded", "-o", "/dev/null")
	if scope < closed {
		err = errors.Join(dump.wants(0, "descend"), doctor.wants(0), recorded.wants(0))
		if program != granted { // it may not read what a thread waits in
			err = errors.Join(err, quiet.wants(0, "nothing stopped"))
		}
		return err
	}
	words := refusal[scope]
	return errors.Join(dump.wants(2, "kernel.yama.ptrace_scope is "+strconv.Itoa(scope), words),
		doctor.wants(1, "kernel.yama.ptrace_scope is "+strconv.Itoa(scope), words),
		quiet.wants(2, "ptrace_scope"), recorded.wants(2, "ptrace_scope", words))
}

// startUnder records a command that fpstack starts: an ancestor passes scope 1.
func (m *machine) startUnder(uid, scope, closed int) error {
	r := as(uid, m.fpstack(), "record", "-d", "1", "-f", "folded", "-o", "/dev/null", "--", "/bin/sh", "-c",
		"sleep 2; exit 7")
	if scope < closed {
		return r.wants(7)
	}
	return r.wants(125, "ptrace_scope", refusal[scope])
}

// runUnder runs a command that hangs: where it cannot be sampled that is said at the start, and it is ended.
func (m *machine) runUnder(uid, scope, closed int) error {
	r := as(uid, m.fpstack(), "run", "--deadline", "2s", "--", m.file("bin/threads-fp"), "1", "2")
	if scope < closed {
		return r.wants(124, "descend")
	}
	return r.wants(124, "ptrace_scope", refusal[scope])
}

// doctorUnder asks what is possible at all.
func (m *machine) doctorUnder(scope int) error {
	status := min(scope, 1) // without a process named it is about those that we did not start
	return as(user, m.fpstack(), "doctor", "-v").wants(status, "kernel.yama.ptrace_scope is "+strconv.Itoa(scope))
}
