//go:build linux

package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReload: SIGHUP has the file read again while the recording goes on; a file with a mistake is refused and the old
// rules hold, and what needs a restart is named.
func TestReload(t *testing.T) {
	t.Parallel()
	first, second := startChecker(t, "reloada"), startChecker(t, "reloadb")
	store, file := newStore(t, takes), filepath.Join(folder(t), "agent.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rule := func(names string) string { return "interval: 1s\nprocesses:\n  - name: [" + names + "]\n" }
	write(rule("reloada"))
	a := startAgent(t, store, filepath.Join(folder(t), "spool"), nil, "--config", file)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(a.text())
		}
	})
	has := func(name string) func() bool { return func() bool { return len(store.count(t, name).wall) > 0 } }
	await(t, "the first is recorded", has("reloada"))
	hup := func(says string) {
		t.Helper()
		before := strings.Count(a.text(), says)
		if err := a.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		await(t, says, func() bool { return strings.Count(a.text(), says) > before })
	}
	write("processes: [name]\nno-such: 1\n")
	hup("what holds is kept: --config " + file + ": line 1")
	write(rule("reloada, reloadb"))
	hup("configuration was read again")
	await(t, "the second is recorded", has("reloadb"))
	write(strings.Replace(rule("reloadb")+"    service: other\nrate: 7\n", "1s", "2s", 1))
	hup("interval, rate: needs a restart to change, and is as it was")
	await(t, "the second has another name", has("other"))
	time.Sleep(2500 * time.Millisecond) // what the interval had of the first has come
	before := len(store.count(t, "reloada").wall)
	time.Sleep(2500 * time.Millisecond)
	if n := len(store.count(t, "reloada").wall); n != before {
		t.Errorf("%d profiles of what is chosen no longer", n-before)
	}
	if b := a.balance(t); b.dropped > 0 {
		t.Errorf("%+v", b)
	}
	a.end(t)
	first.finish(t)
	second.finish(t)
}

// TestHangUpWithoutFile: without a file there is nothing to read again, and SIGHUP ends the agent as SIGTERM does.
func TestHangUpWithoutFile(t *testing.T) {
	t.Parallel()
	c := startChecker(t, "hangup")
	a := startAgent(t, newStore(t, takes), filepath.Join(folder(t), "spool"), []*checker{c}, everySecond...)
	await(t, "it records", func() bool { return strings.Contains(a.text(), "recording; ") })
	a.cmd.Process.Signal(syscall.SIGHUP)
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, a.text())
	}
	c.finish(t)
}

// TestFarStore: with a hundred processes and a store that takes 200 ms for each request no profile is lost: all
// that was taken is sent when the agent ends, which allows for 25 requests one after the other.
func TestFarStore(t *testing.T) {
	t.Parallel()
	const processes = 100
	path := named(t, installed(t, "sleep"))
	for range processes {
		c := exec.Command(path, "120")
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := run.Start(c); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	}
	store := newStore(t, takes)
	store.takes = 200 * time.Millisecond
	a := startAgent(t, store, filepath.Join(folder(t), "spool"), nil, "--name", filepath.Base(path), "--interval", "5s",
		"--spool-limit", "1M")
	await(t, "intervals were taken", func() bool { return a.balance(t).taken >= 3*processes })
	b := a.balance(t)
	if most := 2 * processes; b.dropped > 0 || b.waiting > most {
		t.Errorf("%+v: more than two intervals wait", b)
	}
	a.end(t)
	t.Logf("%+v", b)
}
