//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The programs that profiles are for lie where Debian's profiles name none.
const (
	targetFile = "/usr/local/bin/guarded"
	freeFile   = "/usr/local/bin/free"
	deniedFile = "/usr/local/bin/fpstack-denied"
	tracerFile = "/usr/local/bin/fpstack-tracing"
)

// profile is a profile that allows all but what concerns ptrace, of which it has these rules.
func profile(name, path, rules string) string {
	const others = "  file,\n  capability,\n  signal,\n  network,\n  unix,\n"
	return "profile " + name + " " + path + " {\n" + others + rules + "}\n"
}

// apparmor has a target that nobody may trace, an fpstack that may trace nobody, and one that may.
func (m *machine) apparmor() {
	m.try("apparmor/profiles", m.loadProfiles)
	m.try("apparmor/neither has a profile", func() error { return m.allowed(freeFile, m.fpstack()) })
	m.try("apparmor/the target has one, fpstack none", func() error { return m.allowed(targetFile, m.fpstack()) })
	m.try("apparmor/fpstack has one with the rule", func() error { return m.allowed(freeFile, tracerFile) })
	m.try("apparmor/the target's has no rule", func() error {
		return m.refusedByProfile(targetFile, tracerFile, "tracing")
	})
	m.try("apparmor/fpstack's has no rule", func() error { return m.refusedByProfile(freeFile, deniedFile, "denied") })
	m.try("apparmor/record of a command, no rule", func() error {
		return root(deniedFile, "record", "-d", "1", "-f", "folded", "-o", "/dev/null", "--", "/bin/sleep", "2").
			wants(125, "denied", "AppArmor", "ptrace (trace, read)")
	})
	m.try("apparmor/run, no rule", func() error {
		return root(deniedFile, "run", "--deadline", "2s", "--", freeFile, "1", "2").
			wants(124, "denied", "AppArmor", "ptrace (trace, read)")
	})
	m.try("apparmor/complain", func() error {
		if err := load("denied", profile("denied", deniedFile+" flags=(complain)", "")); err != nil {
			return err
		}
		return m.allowed(freeFile, deniedFile)
	})
}

func load(name, text string) error {
	path := filepath.Join("/etc/apparmor.d", name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	return root("/usr/sbin/apparmor_parser", "-r", path).wants(0)
}

func (m *machine) loadProfiles() error {
	for path, from := range map[string]string{targetFile: "bin/threads-static", freeFile: "bin/threads-static",
		deniedFile: "fpstack", tracerFile: "fpstack"} {
		image, err := os.ReadFile(m.file(from))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, image, 0o755); err != nil {
			return err
		}
	}
	return errors.Join(load("guarded", profile("guarded", targetFile, "")),
		load("denied", profile("denied", deniedFile, "")),
		load("tracing", profile("tracing", tracerFile, "  ptrace,\n")))
}

// startAt starts a target where it lies: its profile goes by the path.
func (m *machine) startAt(path string) (*target, error) {
	t := &target{exec.Command(path, "1", "2"), filepath.Base(path)}
	return t, t.begin()
}

// refusedByProfile dumps, records and asks doctor: each says that the security module refuses, and what to do.
func (m *machine) refusedByProfile(path, program, label string) error {
	t, err := m.startAt(path)
	if err != nil {
		return err
	}
	defer t.end()
	text, _ := os.ReadFile("/proc/" + t.id() + "/attr/current") // empty is not the label
	note("apparmor %s: label %q", path, strings.TrimSpace(string(text)))
	return errors.Join(root(program, "-p", t.id()).wants(2, label, "AppArmor"),
		root(program, "doctor", "-p", t.id()).wants(1, label, "AppArmor"),
		root(program, "record", "-p", t.id(), "-d", "1", "-f", "folded", "-o", "/dev/null").
			wants(2, label, "AppArmor"))
}

func (m *machine) allowed(path, program string) error {
	t, err := m.startAt(path)
	if err != nil {
		return err
	}
	defer t.end()
	return errors.Join(root(program, "-p", t.id()).wants(0, "descend"), root(program, "doctor", "-p", t.id()).wants(0))
}
