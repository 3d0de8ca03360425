package waits

import "math/bits"

// Signals by number. Source: signal(7); of MIPS they are others, which no architecture here is.
const (
	sigAlarm = 14
	sigChild = 17
	sigIO    = 29
)

// ordinary are the signals 1 to 31; those above are given out by libc and timers.
const ordinary = 1<<31 - 1

// catchAll is from how many handlers on a program is one whose runtime takes every signal: none of them tells what it
// waits for.
const catchAll = 16

// chosen are the signals that the program itself has handlers for, bit n-1 for signal n. Those of faults are left out.
func (p *Process) chosen() uint64 {
	const faults = 1<<(4-1) | 1<<(5-1) | 1<<(7-1) | 1<<(8-1) | 1<<(11-1) | 1<<(31-1) // ILL TRAP BUS FPE SEGV SYS
	own := p.Caught & ordinary &^ faults
	if bits.OnesCount64(own) >= catchAll {
		return 0
	}
	return own
}

// own reports whether nobody but a thread of process pid is known to end w.
func (w *Wait) own(pid int) bool {
	for _, to := range w.Wakers {
		if to.PID != pid {
			return false
		}
	}
	return len(w.Wakers) > 0
}

func has(signals uint64, n int) bool { return signals>>(n-1)&1 != 0 }

// byHandlers says of waits which signals could end them: a handler runs whatever its thread waits for, and may write to
// a pipe, post a semaphore, or end the call. What a thread owns it cannot give back so: of locks nothing is said.
//
// SIGCHLD comes when a child ends, so that children are among those who can end the wait. SIGALRM and SIGIO may come by
// themselves, as what timers of setitimer(2) there are is not shown.
func (s *study) byHandlers(waits []Wait) {
	for i := range waits {
		w := &waits[i]
		t := s.facts.Thread(w.TID)
		if t == nil || w.Mode == Time || w.Mode == Idle && len(w.Set) == 0 || w.Mode == One && w.Object.Kind.holds() {
			continue
		}
		p := t.Process
		w.Handled = p.chosen() | w.awaited
		w.Alarm = has(w.Handled, sigAlarm) || has(w.Handled, sigIO) || p.Timers
		if !has(p.Caught, sigChild) || !p.Asked && !w.own(p.PID) {
			continue
		}
		list, ok := s.children(p.PID)
		if !ok {
			continue
		}
		unread := false // one that nothing is known of says that others may come
		for k, ch := range list {
			switch {
			case ch.State == 'Z':
				continue
			case k < maxReached:
				s.reach(ch.PID)
			case s.facts.Process(ch.PID) == nil:
				if unread {
					continue
				}
				unread = true
			}
			w.Children = append(w.Children, ch.PID)
		}
	}
}
