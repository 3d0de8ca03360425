//go:build linux && (amd64 || arm64)

package exact

import (
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

const (
	redZone   = 128      // System V ABI AMD64, 3.2.2
	stackCopy = 64 << 10 // of a deeper stack the rest is read when the walker asks
	// startFrames is how many frames may be below main: _start, __libc_start_main and its call.
	startFrames = 3
)

// pendingMiss is a miss that a jump soon after would explain.
type pendingMiss struct {
	step    uint64
	jumping bool // SP had left the old frames already
	miss    Miss
}

func memAddr(a uint64) mem.Addr { return mem.Addr(a) }

// compare walks the stack of t and holds it against the truth.
func (s *session) compare(t *thread) error {
	if s.report.Points == 0 && s.opt.Limit > 0 {
		s.until = time.Now().Add(s.opt.Limit)
	}
	s.report.Points++
	s.settleMisses(t)
	t.chain = t.truth.chain(t.chain[:0], t.at.pc)
	s.settleLandings(t)
	if s.opt.Below != "" && s.isBelow(t, s.opt.Below) {
		s.report.Below++
	}
	if s.opt.TruthOnly {
		return nil
	}
	stack, err := t.walk(s.opt.Blind)
	if err != nil {
		return err
	}
	s.report.Stops[stack.Stop]++
	for i := range stack.Frames {
		s.report.Origins[stack.Frames[i].Origin]++
	}
	if same(t.chain, stack.Frames) {
		s.report.Exact++
		return s.askPeer(t)
	}
	m := Miss{Step: s.report.Steps, TID: t.tid, PC: t.at.pc, SP: t.at.sp, Stop: stack.Stop, Err: stack.Err,
		Truth: slices.Clone(t.chain), Walked: stack.Frames}
	s.missed(t, m)
	return s.askPeer(t)
}

// isBelow reports whether t is in the function of that name, or in what that calls, by the truth.
func (s *session) isBelow(t *thread, name string) bool {
	sp := t.space
	for i, a := range t.chain {
		is, known := sp.below[a]
		if !known {
			is = function(s.names.find(sp.table, a-uint64(min(i, 1)))) == name
			sp.below[a] = is
		}
		if is {
			return true
		}
	}
	return false
}

// walk takes a snapshot of the stopped thread and walks it. blind leaves out all registers but PC and SP.
func (t *thread) walk(blind bool) (unwind.Stack, error) {
	m, err := t.space.stackAt(t.at.sp)
	if err != nil {
		return unwind.Stack{}, err
	}
	th := snapshot.Thread{TID: t.tid, State: 'R'}
	if th.Registers, err = t.registers(); err != nil {
		return unwind.Stack{}, err
	}
	if m != nil {
		from := max(m.Start, memAddr(t.at.sp-redZone))
		size := min(uint64(m.End-from), stackCopy)
		if t.stack == nil {
			t.stack = make([]byte, stackCopy)
		}
		n, _ := t.space.ReadMem(t.stack[:size], from)
		th.Stack = mem.Range{Start: from, Data: t.stack[:n]}
	}
	th.PACMask = pacMask(t.tid)
	if blind {
		th.Arch, th.Registers = th.Registers.Arch, nil
		th.Syscall = &snapshot.Syscall{Number: -1, PC: memAddr(t.at.pc), SP: memAddr(t.at.sp)}
	}
	memory := mem.NewOverlay(t.space.live, th.Stack)
	return t.space.walker.Walk(&th, memory, unwind.Options{}), nil
}

// same reports whether the walk gave the true addresses, all of them and no more.
func same(truth []uint64, walked []unwind.Frame) bool {
	return len(truth) == len(walked) && agrees(truth, walked)
}

// missed counts a miss, or keeps it for a while in case a jump explains it.
func (s *session) missed(t *thread, m Miss) {
	m.Code = make([]byte, maxInstruction+1)
	n, _ := t.space.ReadMem(m.Code, memAddr(m.PC))
	m.Code = m.Code[:n]
	s.name(t, &m)
	missing := len(m.Truth) - len(m.Walked)
	switch {
	case t.truth.inJump:
		m.Cause = InJump
	case s.opt.Blind && m.Stop == unwind.BadCFA && m.Err != nil && strings.HasSuffix(m.Err.Error(), "is not known") &&
		agrees(m.Truth, m.Walked):
		m.Cause = NotKnown
	case missing > 0 && len(m.Walked) > 0 && agrees(m.Truth, m.Walked) &&
		(missing <= startFrames || isTop(m.names[len(m.names)-1])):
		m.Cause = StartCode
	case missing < 0 && t.truth.begunLate() && agrees(m.Truth, m.Walked[:len(m.Truth)]):
		m.Cause = BegunLate
	case t.truth.signals(func(frame, pc, sp uint64) bool {
		savedPC, savedSP, ok := t.space.savedContext(frame)
		return ok && (savedPC != pc || savedSP != sp)
	}):
		m.Cause = ChangedContext
	default:
		m.Cause = knownSite(&m)
	}
	if m.Cause == InJump {
		t.landing = append(t.landing, pendingMiss{step: t.truth.steps, jumping: t.truth.inJump, miss: m})
		return
	}
	if m.Cause == "" {
		t.pending = append(t.pending, pendingMiss{step: t.truth.steps, miss: m})
		return
	}
	s.count(m)
}

// settleMisses decides on the misses that waited for a jump.
func (s *session) settleMisses(t *thread) {
	keep := t.pending[:0]
	for _, p := range t.pending {
		switch {
		case t.truth.jumped >= p.step && t.truth.jumped-p.step <= p.miss.window():
			p.miss.Cause = InJump
			t.landing = append(t.landing, p)
		case t.truth.steps-p.step > landingWindow:
			p.miss.Cause = Unexplained
			s.count(p.miss)
		default:
			keep = append(keep, p)
		}
	}
	t.pending = keep
}

// flush counts what still waits when the run ends.
func (s *session) flush() {
	for _, t := range s.threads {
		s.settleMisses(t)
		for _, p := range t.pending {
			p.miss.Cause = Unexplained
			s.count(p.miss)
		}
		for _, p := range t.landing {
			s.count(p.miss)
		}
	}
}

func (s *session) count(m Miss) {
	s.report.ByCause[m.Cause]++
	site := m.Cause + ": " + m.Symbol
	s.report.perSite[site]++
	if s.report.perSite[site] <= s.opt.Keep {
		s.report.Misses = append(s.report.Misses, m)
	}
}
