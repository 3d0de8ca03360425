//go:build linux && (amd64 || arm64)

package exact

// A jump out of frames (longjmp, an exception that lands, swapcontext) has two right stacks: the
// one that is being left, which the truth holds, and the one that it leads to, which the
// tables of such code describe on purpose. A walk that gave the second is compared with the
// truth at the landing.

// settleLandings decides on the misses in a jump, when it has landed.
func (s *session) settleLandings(t *thread) {
	keep := t.landing[:0]
	for _, p := range t.landing {
		waits := t.truth.steps - p.step
		switch landed := !t.truth.inJump && (p.jumping || t.truth.jumped >= p.step); {
		case landed && len(p.miss.Walked) > 1 && same(t.chain, p.miss.Walked[1:]):
			s.report.Ahead++
		case landed, waits > landingWindow:
			s.count(p.miss)
		default:
			keep = append(keep, p)
		}
	}
	t.landing = keep
}
