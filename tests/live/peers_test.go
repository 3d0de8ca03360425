//go:build linux

package live

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

type liveProgram struct {
	name string
	args []string
}

// livePrograms are those of testdata/live whose threads all sleep.
var livePrograms = []liveProgram{
	{"threads", []string{"2", "20"}},
	{"threads-fp", []string{"2", "20"}},
	{"threads-O0", []string{"2", "20"}},
	{"threads-stripped", []string{"2", "20"}},
	{"threads-nopie", []string{"2", "20"}},
	{"threads-static", []string{"2", "20"}},
	{"threads-static-pie", []string{"2", "20"}},
	{"threads-notables", []string{"2", "20"}},
	{"threads-notables-fp", []string{"2", "20"}},
	{"threads-clang", []string{"2", "20"}},
	{"threads-clang-fp", []string{"2", "20"}},
	{"threads-m32", []string{"2", "20"}},
	{"threads-m32-fp", []string{"2", "20"}},
	{"threads-musl", []string{"2", "20"}},
	{"threads-musl-static", []string{"2", "20"}},
	{"threads-rust", []string{"2", "20"}},
	{"threads-rust-fp", []string{"2", "20"}},
	{"threads-go", []string{"2", "20"}},
	{"threads-go-stripped", []string{"2", "20"}},
	{"threads-go-pie", []string{"2", "20"}},
	{"threads-go-386", []string{"2", "20"}},
	{"signals", []string{"raise"}},
	{"signals", []string{"fault"}},
	{"signals", []string{"nested"}},
	{"signals-fp", []string{"nested"}},
	{"signals-static", []string{"nested"}},
	{"signals-m32", []string{"nested"}},
	{"deep", []string{"3000"}},
	{"deep-fp", []string{"3000"}},
	{"except", nil},
	{"except-clang", nil},
}

// signedPrograms are those of arm64 that sign return addresses, or keep no frame records.
var signedPrograms = []liveProgram{
	{"threads-nofp", []string{"2", "20"}},
	{"threads-pac", []string{"2", "20"}},
	{"threads-pac-static", []string{"2", "20"}},
	{"threads-pac-notables", []string{"2", "20"}},
	{"threads-clang-pac", []string{"2", "20"}},
	{"signals-pac", []string{"raise"}},
	{"signals-pac", []string{"nested"}},
	{"deep-pac", []string{"3000"}},
	{"except-pac", nil},
}

// TestPeers compares every frame of every thread with eu-stack and gdb.
func TestPeers(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	livePrograms := livePrograms
	if runtime.GOARCH == "arm64" { // eu-stack shows signed addresses as they are
		peers = peers[1:]
		livePrograms = append(slices.Clone(livePrograms), signedPrograms...)
	}
	for _, p := range realPrograms {
		t.Run(p.name, func(t *testing.T) { compareAll(t, p.name, p.start(t)) })
	}
	if *update {
		t.Cleanup(func() { writeTable(t) })
	}
	for _, p := range livePrograms {
		name := p.name
		if p.name[:3] == "sig" {
			name += " " + p.args[0]
		}
		t.Run(name, func(t *testing.T) {
			compareAll(t, name, []int{runTarget(t, p.name, p.args...).pid})
		})
	}
}

func compareAll(t *testing.T, name string, pids []int) {
	row := newRow(name)
	for _, pid := range pids {
		for _, peer := range peers {
			comparePeer(t, row, pid, peer)
		}
	}
	row.report(t)
}

// comparePeer samples process pid before the peer and after it. A thread that moved between
// the two shows nothing, so that is done again.
func comparePeer(t *testing.T, row *row, pid int, peer peer) {
	t.Helper()
	for range 10 {
		before := dumpJSON(t, pid, "--max-frames", "0")
		theirs := peer.stacks(t, pid)
		asleep(t, pid)
		after := dumpJSON(t, pid, "--max-frames", "0")
		if moved := movedBetween(before, after); moved != "" {
			t.Logf("process %d: %s; again", pid, moved)
			continue
		}
		row.count(peer.name, before)
		compareThreads(t, row, before, theirs, peer.name)
		return
	}
	t.Errorf("process %d does not rest", pid)
}

// movedBetween names what differs between two dumps of a process, "" if nothing does.
func movedBetween(a, b *dump) string {
	if len(a.Threads) != len(b.Threads) {
		return fmt.Sprintf("%d threads, then %d", len(a.Threads), len(b.Threads))
	}
	for i := range a.Threads {
		fs, gs := a.Threads[i].Stack.Frames, b.Threads[i].Stack.Frames
		if a.Threads[i].TID != b.Threads[i].TID || len(fs) != len(gs) {
			return fmt.Sprintf("thread %d moved", a.Threads[i].TID)
		}
		for j := range fs {
			if fs[j].Address != gs[j].Address {
				return fmt.Sprintf("thread %d moved", a.Threads[i].TID)
			}
		}
	}
	return ""
}

func compareThreads(t *testing.T, row *row, d *dump, theirs map[int][]place, peer string) {
	t.Helper()
	if len(theirs) != len(d.Threads) {
		t.Errorf("process %d: %d threads, and %d in %s", d.Process.PID, len(d.Threads), len(theirs), peer)
	}
	for i := range d.Threads {
		th := &d.Threads[i]
		ours, others := physical(th.Stack.Frames), theirs[th.TID]
		p := part(d, ours, others)
		rule := allowed(row.program, peer, p)
		row.note(peer, p, rule)
		if p.how != equal && rule == nil {
			t.Errorf("thread %d: %s: %v\n%s", th.TID, peer, p, sideBySide(d, ours, others))
		}
		if peer == "eu-stack" {
			compareNames(t, d, ours[:p.at], others)
		}
	}
}

// sideBySide words two stacks for a person who wants to see where they part.
func sideBySide(d *dump, ours []frame, theirs []place) string {
	text := ""
	for i := range max(len(ours), len(theirs)) {
		left, right := "", ""
		if i < len(ours) {
			left = fmt.Sprintf("%#x %s {%s}", value(ours[i].Address), where(d, ours[i]), ours[i].Origin)
		}
		if i < len(theirs) {
			right = fmt.Sprintf("%#x %s", theirs[i].address, theirs[i].name)
		}
		text += fmt.Sprintf("  #%-3d %-70s | %s\n", i, left, right)
	}
	return text
}
