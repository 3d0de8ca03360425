//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	unit   = "fpstack-agent"
	secret = "a-secret-of-the-store"
)

// systemd tries the units as they are shipped.
func (m *machine) systemd() {
	s := &store{secret: secret}
	m.try("systemd/store", s.listen)
	m.try("systemd/install", m.install)
	m.try("systemd/verify", m.verify)
	m.try("systemd/without a file nothing starts", m.noFile)
	m.try("systemd/a wrong file is not tried again", m.wrongFile)
	m.try("systemd/agent", func() error { return m.agentUnit(s) })
	m.try("systemd/agent with CAP_SYS_PTRACE alone", m.leastUnit)
	m.try("systemd/killed, it goes on", m.killedUnit)
	m.try("systemd/stuck, status 75, it is started again", m.stuckUnit)
	m.try("systemd/dump unit", m.dumpUnit)
	m.try("systemd/record unit", m.recordUnit)
	m.try("systemd/coredump", m.coredump)
}

func (m *machine) install() error {
	image, err := os.ReadFile(m.fpstack())
	if err != nil {
		return err
	}
	if err := os.WriteFile("/usr/bin/fpstack", image, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"fpstack-agent", "fpstack-dump@", "fpstack-record@"} {
		text, err := os.ReadFile(m.file(name + ".service"))
		if err != nil {
			return err
		}
		if err := os.WriteFile("/usr/lib/systemd/system/"+name+".service", text, 0o644); err != nil {
			return err
		}
	}
	return errors.Join(os.MkdirAll("/etc/fpstack", 0o755), systemctl("daemon-reload").wants(0))
}

func systemctl(args ...string) result { return root("/usr/bin/systemctl", args...) }

// property is one of what `systemctl show` has of the unit.
func property(name string) string {
	return strings.TrimSpace(systemctl("show", "-P", name, unit).out)
}

func journal(of string) string {
	return root("/usr/bin/journalctl", "-b", "--no-pager", "-o", "cat", "-u", of).out
}

func (m *machine) verify() error {
	for _, line := range strings.Split(root("/usr/bin/systemd-analyze", "security", "--no-pager", unit).out, "\n") {
		if strings.Contains(line, "Overall") {
			note("systemd-analyze security: %s", strings.TrimSpace(line))
		}
	}
	return root("/usr/bin/systemd-analyze", "verify", "--man=no", "/usr/lib/systemd/system/"+unit+".service").wants(0)
}

// noFile starts it before there is a file.
func (m *machine) noFile() error {
	r := systemctl("start", unit)
	if state := property("ActiveState"); r.status != 0 || state != "inactive" {
		return fmt.Errorf("it is %s\n%v", state, r)
	}
	return nil
}

// configure writes the unit's file.
func configure(lines ...string) error {
	all := append([]string{"processes:", "  - name: watched", "interval: 3s"}, lines...)
	return os.WriteFile("/etc/fpstack/agent.yaml", []byte(strings.Join(all, "\n")+"\n"), 0o644)
}

func (m *machine) wrongFile() error {
	if err := configure("push: [pyroscope://127.0.0.1:4040]", "no-such-key: 1"); err != nil {
		return err
	}
	defer systemctl("reset-failed", unit)
	_ = systemctl("start", unit) // fails or not: it has been executed
	if !await(30*time.Second, func() bool { return property("ActiveState") == "failed" }) {
		return fmt.Errorf("it is %s\n%s", property("ActiveState"), journal(unit))
	}
	if status, restarts := property("ExecMainStatus"), property("NRestarts"); status != "64" || restarts != "0" {
		return fmt.Errorf("status %s, restarted %s times\n%s", status, restarts, journal(unit))
	}
	if !strings.Contains(journal(unit), "no-such-key") {
		return errors.New("the journal does not say why\n" + journal(unit))
	}
	return nil
}

// watched starts a program of a plain user that the agent's file chooses.
func (m *machine) watched() (*target, error) {
	return m.start(user, "watched", m.file("bin/threads-static"), "2", "3")
}

// agentUnit has it record a process of another user, report, and stop.
func (m *machine) agentUnit(s *store) error {
	t, err := m.watched()
	if err != nil {
		return err
	}
	defer t.end()
	err = errors.Join(os.WriteFile("/etc/fpstack/token", []byte(secret+"\n"), 0o600),
		configure("push: [pyroscope://127.0.0.1:4040, file:///var/lib/fpstack-agent]", "push-token-file: token"))
	if err != nil {
		return err
	}
	if err := systemctl("start", unit).wants(0); err != nil {
		return err
	}
	if !await(time.Minute, func() bool { return s.taken.Load() >= 2 }) {
		return fmt.Errorf("the store took %d and refused %d\n%s\n%v", s.taken.Load(), s.refused.Load(), journal(unit),
			systemctl("status", "--no-pager", unit))
	}
	if err := m.rights(); err != nil {
		return err
	}
	if err := systemctl("kill", "-s", "USR1", unit).wants(0); err != nil {
		return err
	}
	if !await(10*time.Second, func() bool { return strings.Contains(journal(unit), "taken") }) {
		return errors.New("SIGUSR1 wrote no accounts\n" + journal(unit))
	}
	note("memory: now %s bytes, at most %s; tasks %s", property("MemoryCurrent"), property("MemoryMax"),
		property("TasksCurrent"))
	if err := systemctl("status", "--no-pager", unit).wants(0, "active (running)"); err != nil {
		return err
	}
	asked := time.Now()
	stop := systemctl("stop", unit)
	if r := property("Result"); stop.status != 0 || r != "success" || stop.took > 15*time.Second {
		return fmt.Errorf("result %s\n%v\n%s", r, stop, journal(unit))
	}
	for line := range strings.Lines(journal(unit)) {
		note("journal: %s", strings.TrimRight(line, "\n"))
	}
	return wholeTime(asked)
}

// profiles are the files in the unit's folder.
func profiles() []string {
	names, _ := filepath.Glob("/var/lib/private/fpstack-agent/*.pb.gz") // the pattern is a good one
	return names
}

// wholeTime says whether the profiles in the unit's folder follow one another up to its end, which was asked for at a
// time.
func wholeTime(asked time.Time) error {
	var length, wall, from, to time.Duration
	for i, name := range profiles() {
		p, err := readPiece(name)
		if err != nil {
			return err
		}
		length, wall, to = length+p.length(), wall+p.wall, max(to, p.to)
		if i == 0 || p.from < from {
			from = p.from
		}
	}
	end := time.Unix(0, int64(to))
	note("unit: %d profiles of %.3f s together in %.3f s, until %.3f s after it was to end", len(profiles()),
		length.Seconds(), (to - from).Seconds(), end.Sub(asked).Seconds())
	if (length-(to-from)).Abs() > 50*time.Millisecond || end.Before(asked) || end.After(time.Now()) {
		return fmt.Errorf("profiles of %v in %v, until %v after it was to end", length, to-from, end.Sub(asked))
	}
	if threads := wall.Seconds() / length.Seconds(); threads < 2.9 || threads > 3.1 {
		return fmt.Errorf("%.2f threads, not 3: wall %v in %v", threads, wall, length)
	}
	return nil
}

// rights compares what the process may do with what the unit says.
func (m *machine) rights() error {
	text, err := os.ReadFile("/proc/" + property("MainPID") + "/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		switch {
		// CAP_DAC_READ_SEARCH is 2, CAP_SYS_PTRACE 19.
		case key == "CapEff" && value != "0000000000080004", key == "CapBnd" && value != "0000000000080004",
			key == "NoNewPrivs" && value != "1", key == "Seccomp" && value != "2",
			key == "Uid" && strings.HasPrefix(value, "0\t"):
			return fmt.Errorf("%s is %q", key, value)
		}
	}
	return nil
}

// leastUnit takes the second capability away.
func (m *machine) leastUnit() error {
	t, err := m.watched()
	if err != nil {
		return err
	}
	defer t.end()
	drop := "/etc/systemd/system/" + unit + ".service.d"
	text := "[Service]\nAmbientCapabilities=\nAmbientCapabilities=CAP_SYS_PTRACE\n" +
		"CapabilityBoundingSet=\nCapabilityBoundingSet=CAP_SYS_PTRACE\n"
	if err := errors.Join(os.MkdirAll(drop, 0o755), os.WriteFile(drop+"/least.conf", []byte(text), 0o644),
		clearProfiles(), configure("push: [file:///var/lib/fpstack-agent]")); err != nil {
		return err
	}
	defer func() {
		_ = os.RemoveAll(drop) // what stays shows in the next check
		systemctl("daemon-reload")
	}()
	systemctl("daemon-reload")
	if err := systemctl("start", unit).wants(0); err != nil {
		return err
	}
	if !await(time.Minute, func() bool { return len(profiles()) >= 2 }) {
		return errors.New("no profiles\n" + journal(unit))
	}
	asked := time.Now()
	stop := systemctl("stop", unit)
	if err := stop.wants(0); err != nil {
		return err
	}
	if err := wholeTime(asked); err != nil {
		return fmt.Errorf("%w\n%s", err, journal(unit))
	}
	return nil
}

func clearProfiles() error {
	for _, name := range profiles() {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// killedUnit kills it: systemd starts it again, and no thread stays stopped.
func (m *machine) killedUnit() error {
	t, err := m.watched()
	if err != nil {
		return err
	}
	defer t.end()
	if err := configure("push: [file:///var/lib/fpstack-agent]"); err != nil {
		return err
	}
	if err := systemctl("start", unit).wants(0); err != nil {
		return err
	}
	defer systemctl("stop", unit)
	time.Sleep(4 * time.Second)
	before := property("MainPID")
	if err := systemctl("kill", "-s", "KILL", unit).wants(0); err != nil {
		return err
	}
	if !await(40*time.Second, func() bool {
		return property("ActiveState") == "active" && property("MainPID") != before && property("NRestarts") == "1"
	}) {
		return fmt.Errorf("it is %s, restarted %s times\n%s", property("ActiveState"), property("NRestarts"),
			journal(unit))
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.pid()))
	if err != nil || !strings.Contains(string(text), "State:\tS") {
		return fmt.Errorf("the target is not asleep (%w):\n%s", err, text)
	}
	return nil
}

// stuckUnit gives it a store that is away and a spool that is full at once.
func (m *machine) stuckUnit() error {
	t, err := m.watched()
	if err != nil {
		return err
	}
	defer t.end()
	if err := configure("push: [pyroscope://127.0.0.1:4041]", "spool-age: 2s", "stuck-after: 6s"); err != nil {
		return err
	}
	defer systemctl("stop", unit)
	if err := systemctl("start", unit).wants(0); err != nil {
		return err
	}
	if !await(90*time.Second, func() bool { return property("NRestarts") >= "1" }) {
		return fmt.Errorf("it is %s, status %s\n%s", property("ActiveState"), property("ExecMainStatus"), journal(unit))
	}
	all := root("/usr/bin/journalctl", "-b", "--no-pager", "-o", "cat", "UNIT="+unit+".service", "+",
		"_SYSTEMD_UNIT="+unit+".service").out
	if !strings.Contains(all, "status=75") || !strings.Contains(all, "nothing was sent for too long") {
		return errors.New("the journal does not say why\n" + all)
	}
	return nil
}

func (m *machine) dumpUnit() error {
	t, err := m.watched()
	if err != nil {
		return err
	}
	defer t.end()
	if err := systemctl("start", "fpstack-dump@watched").wants(0); err != nil {
		return fmt.Errorf("%w\n%s", err, journal("fpstack-dump@watched"))
	}
	if !await(10*time.Second, func() bool { return strings.Contains(journal("fpstack-dump@watched"), "descend") }) {
		return errors.New(journal("fpstack-dump@watched"))
	}
	return nil
}

// recordUnit records for a few seconds, not a minute.
func (m *machine) recordUnit() error {
	t, err := m.watched()
	if err != nil {
		return err
	}
	defer t.end()
	drop := "/etc/systemd/system/fpstack-record@.service.d"
	text := "[Service]\nExecStart=\nExecStart=/usr/bin/fpstack record -n %i -d 3 -o /var/lib/fpstack/%i.html\n"
	if err := errors.Join(os.MkdirAll(drop, 0o755), os.WriteFile(drop+"/short.conf", []byte(text), 0o644),
		systemctl("daemon-reload").wants(0)); err != nil {
		return err
	}
	if err := systemctl("start", "fpstack-record@watched").wants(0); err != nil {
		return fmt.Errorf("%w\n%s", err, journal("fpstack-record@watched"))
	}
	page, err := os.ReadFile("/var/lib/private/fpstack/watched.html")
	if err != nil || !strings.Contains(string(page), "descend") {
		return fmt.Errorf("%d bytes in the page (%w)\n%s", len(page), err, journal("fpstack-record@watched"))
	}
	return nil
}

// coredump reads what systemd-coredump keeps, which is compressed.
func (m *machine) coredump() error {
	t, err := m.start(0, "crashed", m.file("bin/threads-static"), "2", "3")
	if err != nil {
		return err
	}
	if err := t.cmd.Process.Signal(syscall.SIGSEGV); err != nil {
		return err
	}
	_ = t.cmd.Wait() // it was killed
	var cores []string
	if !await(30*time.Second, func() bool {
		cores, _ = filepath.Glob("/var/lib/systemd/coredump/core.crashed.*") // the pattern is a good one
		return len(cores) == 1 && !strings.Contains(cores[0], ".#")
	}) {
		return fmt.Errorf("cores: %q\n%v", cores, root("/usr/bin/coredumpctl", "--no-pager"))
	}
	note("core %s", filepath.Base(cores[0]))
	return root("/usr/bin/fpstack", cores[0]).wants(0, "descend", "3 threads", "SIGSEGV")
}
