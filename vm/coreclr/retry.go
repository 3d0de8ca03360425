package coreclr

// retry says when what failed is tried again: seldom where it fails again and again, but not never, as memory that
// cannot be read now may be read later, and a budget has more then. Moments are counted in walks.
type retry struct{ next, wait int }

const maxWait = 1 << 10

func (t *retry) due(now int) bool { return now >= t.next }

func (t *retry) failed(now int) {
	t.next = now + t.wait
	t.wait = min(2*t.wait+1, maxWait)
}
