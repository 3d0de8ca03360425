//go:build linux && (amd64 || arm64)

package exact

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peer counts how another unwinder fares at the points at which it is run.
type peer struct {
	seen int // points, to find each PeerEvery-th
}

// askPeer stops the process as job control would, lets go of it, runs the peer, and takes the
// process back. No instruction runs meanwhile: the stop signal comes before the return to user
// code, and the attach before SIGCONT.
// Precondition: the process has one thread, stopped by a step.
func (s *session) askPeer(t *thread) error {
	if len(s.opt.Peer) == 0 || len(s.threads) != 1 {
		return nil
	}
	if s.peer.seen++; s.peer.seen%max(s.opt.PeerEvery, 1) != 0 {
		return nil
	}
	if err := ptrace(unix.PTRACE_DETACH, t.tid, 0, uintptr(unix.SIGSTOP)); err != nil {
		return fmt.Errorf("detach for the peer: %w", err)
	}
	if err := waitStopped(t.tid); err != nil {
		return err
	}
	argv := append(s.opt.Peer[1:len(s.opt.Peer):len(s.opt.Peer)], strconv.Itoa(t.tid))
	out, _ := exec.Command(s.opt.Peer[0], argv...).Output() // eu-stack exits 1 for a stack without root
	if err := s.takeBack(t); err != nil {
		return err
	}
	p := &s.report.Peer
	p.Points++
	if sameAddresses(t.chain, peerAddresses(out)) {
		p.Exact++
		return nil
	}
	if p.BySite == nil {
		p.BySite = map[string]int{}
	}
	p.BySite[function(s.names.find(t.space.table, t.at.pc))]++
	return nil
}

// waitStopped waits until a child that is not traced has stopped.
func waitStopped(pid int) error {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &ws, unix.WUNTRACED, nil)
		if err == unix.EINTR {
			continue
		}
		if err == nil && !ws.Stopped() {
			err = fmt.Errorf("wait status %#x", uint32(ws))
		}
		if err != nil {
			return fmt.Errorf("wait for the stop of %d: %w", pid, err)
		}
		return nil
	}
}

// takeBack attaches again and ends the stop.
func (s *session) takeBack(t *thread) error {
	if err := ptrace(unix.PTRACE_ATTACH, t.tid, 0, 0); err != nil {
		return fmt.Errorf("attach again: %w", err)
	}
	if _, err := waitFor(t.tid); err != nil {
		return fmt.Errorf("attach again: %w", err)
	}
	if err := ptrace(unix.PTRACE_SETOPTIONS, t.tid, 0, traceOptions); err != nil {
		return fmt.Errorf("attach again: %w", err)
	}
	if err := unix.Kill(t.tid, unix.SIGCONT); err != nil {
		return fmt.Errorf("continue after the peer: %w", err)
	}
	t.swallow = 2
	return nil
}

// peerAddresses reads lines such as "#0  0x00007f3a1b2f0e26 epoll_wait".
func peerAddresses(out []byte) []uint64 {
	var list []uint64
	for line := range bytes.Lines(out) {
		f := strings.Fields(string(line))
		if len(f) < 2 || !strings.HasPrefix(f[0], "#") {
			continue
		}
		if a, err := strconv.ParseUint(strings.TrimPrefix(f[1], "0x"), 16, 64); err == nil {
			list = append(list, a)
		}
	}
	return list
}

// sameAddresses compares a peer's stack with the truth. A peer that prints a return address
// minus one is right too.
func sameAddresses(truth, peer []uint64) bool {
	if len(truth) != len(peer) {
		return false
	}
	for i := range truth {
		if peer[i] != truth[i] && (i == 0 || peer[i] != truth[i]-1) {
			return false
		}
	}
	return true
}
