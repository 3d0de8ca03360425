//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// spool sets the clock by a day while profiles wait for a store that is away or busy.
func (m *machine) spool() {
	for _, by := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		m.try(fmt.Sprintf("spool/a store that is away, %v", by), func() error { return m.spoolAway(by) })
		m.try(fmt.Sprintf("spool/Retry-After, %v", by), func() error { return m.spoolBusy(by) })
	}
	m.try("spool/killed, -24h", m.spoolKilled)
}

// spooling starts an agent with a spool in dir, whose profiles are too old after an hour.
func (m *machine) spooling(dir string) (*service, error) {
	a, err := m.serve("agent", "--push", "pyroscope://"+storePort, "--spool", dir, "--spool-age", "1h", "--interval",
		"2s", "-n", "sleeper")
	if err != nil {
		return nil, err
	}
	// Before that SIGUSR1 ends it.
	if !await(time.Minute, func() bool { return strings.Contains(a.said(), "recording;") }) {
		return nil, errors.New("it does not begin\n" + a.said())
	}
	return a, nil
}

// counts are the accounts of one store.
type counts struct{ taken, sent, waiting int }

var accounts = regexp.MustCompile(`profiles: (\d+) taken, (\d+) sent, (\d+) waiting`)

// counts asks for the accounts by SIGUSR1 and reads the last that there are.
func (s *service) counts() counts {
	_ = s.cmd.Process.Signal(syscall.SIGUSR1) // it may have ended: then these are the last
	time.Sleep(300 * time.Millisecond)        // those of a moment ago do as well
	all := accounts.FindAllStringSubmatch(s.said(), -1)
	if all == nil {
		return counts{}
	}
	last := all[len(all)-1]
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(last[i+1]) // the expression has digits alone
	}
	return counts{n[0], n[1], n[2]}
}

// spoolAway has it wait for a store that comes when the clock was set.
func (m *machine) spoolAway(by time.Duration) error {
	sleeper, a, _, err := m.spoolTarget()
	if err != nil {
		return err
	}
	defer sleeper.end()
	if !await(40*time.Second, func() bool { return a.counts().waiting >= 3 }) {
		return errors.New("nothing waits\n" + a.said())
	}
	if err := setClock(by); err != nil {
		return err
	}
	before := a.counts().waiting
	if !await(30*time.Second, func() bool { return a.counts().waiting >= before+2 }) {
		return errors.New("what waits was dropped, or nothing comes\n" + a.said())
	}
	s := &store{}
	if err := s.listen(); err != nil {
		return err
	}
	defer s.close()
	began := time.Now()
	settled := await(60*time.Second, func() bool { c := a.counts(); return c.waiting <= 1 && c.sent > before })
	note("spool, clock set by %v: sent %.1f s after the store came", by, time.Since(began).Seconds())
	return m.allSent(a, settled)
}

// allSent ends the agent, and wants all that was taken to have been sent.
func (m *machine) allSent(a *service, settled bool) error {
	last := a.counts()
	status := a.stop(os.Interrupt)
	if !settled || status != 0 || last.taken != last.sent+last.waiting || last.sent == 0 {
		return fmt.Errorf("status %d, settled %v, %+v\n%s", status, settled, last, a.said())
	}
	return nil
}

// spoolTarget starts a program and an agent that records it, with a spool in a folder.
func (m *machine) spoolTarget() (*target, *service, string, error) {
	sleeper, err := m.start(0, "sleeper", m.file("bin/threads-static"), "1", "3")
	if err != nil {
		return nil, nil, "", err
	}
	dir, err := os.MkdirTemp("/var", "spool")
	if err != nil {
		return nil, nil, "", err
	}
	a, err := m.spooling(dir)
	return sleeper, a, dir, err
}

// spoolBusy sets the clock after a store said when to come again: that is by the monotonic clock.
func (m *machine) spoolBusy(by time.Duration) error {
	s := &store{busy: true}
	if err := s.listen(); err != nil {
		return err
	}
	defer s.close()
	sleeper, a, _, err := m.spoolTarget()
	if err != nil {
		return err
	}
	defer sleeper.end()
	if !await(40*time.Second, func() bool { return len(s.times()) > 0 }) {
		return errors.New("nothing came\n" + a.said())
	}
	first := s.times()[0]
	if err := setClock(by); err != nil {
		return err
	}
	if !await(20*time.Second, func() bool { return len(s.times()) > 1 }) {
		return errors.New("it did not come again\n" + a.said())
	}
	second := s.times()[1].Sub(first)
	s.setBusy(false)
	note("Retry-After: 5, clock set by %v: again after %.1f s", by, second.Seconds())
	settled := await(60*time.Second, func() bool { c := a.counts(); return c.waiting <= 1 && c.sent > 0 })
	if err := m.allSent(a, settled); err != nil {
		return err
	}
	if second < retryAfter-100*time.Millisecond || second > retryAfter+3*time.Second {
		return fmt.Errorf("it came again after %v", second)
	}
	return nil
}

// spoolKilled has another agent, of an earlier time, send what a killed one left.
func (m *machine) spoolKilled() error {
	sleeper, a, dir, err := m.spoolTarget()
	if err != nil {
		return err
	}
	defer sleeper.end()
	if !await(40*time.Second, func() bool { return a.counts().waiting >= 2 }) {
		return errors.New("nothing waits\n" + a.said())
	}
	left := a.counts().waiting
	a.stop(syscall.SIGKILL)
	if err := setClock(-24 * time.Hour); err != nil {
		return err
	}
	s := &store{}
	if err := s.listen(); err != nil {
		return err
	}
	defer s.close()
	next, err := m.spooling(dir)
	if err != nil {
		return err
	}
	settled := await(60*time.Second, func() bool { c := next.counts(); return c.waiting <= 1 && c.sent >= left })
	return m.allSent(next, settled)
}
