package symbol

import (
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/work"
)

func vaddr(v uint64) module.Vaddr { return module.Vaddr(v) }

// want is what is known so far about one wanted address.
type want struct {
	addr  uint64
	sized entry // best symbol whose size covers addr; table is nil while there is none

	// The nearest symbols below addr, as far as no lower wanted address is nearer to them.
	label entry  // best without size at the highest start; table is nil if none
	ended uint64 // highest end of a symbol with size; 0 if none
	// next is the lowest start above addr, for the end of a label.
	next uint64
}

// pass answers for wanted addresses by one walk over the tables, in their own order.
type pass struct {
	wants []want // ascending by addr, each once
	addrs []uint64

	// Most of the time goes into telling how many wanted addresses are below a symbol. hints
	// divides the range of the wanted addresses into equal steps: element k is the answer for the start of
	// step k, so that next to nothing is left to search within a step.
	hints [maxHints + 2]int32
	shift uint

	left work.Purse
}

const (
	// symbolCost is the steps of a [work.Budget] that one symbol takes, coverCost those that one address
	// takes which it covers.
	symbolCost = 24
	coverCost  = 4
)

const maxHints = 1024

func newPass(addrs []module.Vaddr, b *work.Budget) *pass {
	sorted := slices.Clone(addrs)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	p := &pass{wants: make([]want, len(sorted)), addrs: make([]uint64, len(sorted)), left: b.Purse()}
	for i, v := range sorted {
		p.wants[i] = want{addr: uint64(v), next: ^uint64(0)}
		p.addrs[i] = uint64(v)
	}
	if n := len(sorted); n > 0 {
		for (p.addrs[n-1]-p.addrs[0])>>p.shift >= maxHints {
			p.shift++
		}
		k := uint64(0)
		for i, v := range p.addrs {
			for ; k <= (v-p.addrs[0])>>p.shift; k++ {
				p.hints[k] = int32(i)
			}
		}
		for ; k < uint64(len(p.hints)); k++ {
			p.hints[k] = int32(n)
		}
	}
	return p
}

// first returns the number of wanted addresses below v.
func (p *pass) first(v uint64) int {
	n := len(p.addrs)
	if n == 0 || v <= p.addrs[0] {
		return 0
	}
	if v > p.addrs[n-1] {
		return n
	}
	k := (v - p.addrs[0]) >> p.shift
	lo, hi := int(p.hints[k]), int(p.hints[k+1])
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if p.addrs[mid] < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// scan takes every symbol of t into account, as far as the budget goes: see [pass.cut].
func (p *pass) scan(t *rawTable) {
	if len(p.wants) == 0 {
		return
	}
	var e entry
	n := t.count()
	defer t.done(n)
	for i := 0; i < n && p.left.Spend(symbolCost); i++ {
		if i%piece == 0 {
			t.done(i)
		}
		if start, size, may := t.extent(i); !may || p.knows(start, size) || !t.read(i, &e) {
			continue
		}
		at := p.first(e.start)
		if at > 0 && e.start < p.wants[at-1].next {
			p.wants[at-1].next = e.start
		}
		if at == len(p.wants) {
			continue
		}
		if e.size == 0 {
			p.addLabel(&p.wants[at], &e)
			continue
		}
		if at = p.cover(at, &e); at < len(p.wants) {
			p.wants[at].ended = max(p.wants[at].ended, e.end)
		}
	}
}

// knows reports whether a symbol would change nothing, as of most of a table: another is as near below the next wanted
// address and covers none, and one as near above the last. start and size are those of [rawTable.extent].
func (p *pass) knows(start, size uint64) bool {
	at := p.first(start)
	if at > 0 && start < p.wants[at-1].next {
		return false
	}
	if at == len(p.wants) {
		return true
	}
	w, end := &p.wants[at], start+size
	return size != 0 && start < end && end <= w.addr && end <= w.ended
}

// cover offers e to the wanted addresses inside of it, from number at on, and returns the
// number of the first behind it. What an earlier table covers stays, so that an answer does
// not depend on what else was asked.
func (p *pass) cover(at int, e *entry) int {
	for ; at < len(p.wants) && p.wants[at].addr < e.end && p.left.Spend(coverCost); at++ {
		w := &p.wants[at]
		if w.sized.table == nil || w.sized.table == e.table && nearer(e, &w.sized, &p.left) {
			w.sized = *e
		}
	}
	return at
}

func (p *pass) addLabel(w *want, e *entry) {
	if w.label.table == nil || nearer(e, &w.label, &p.left) {
		w.label = *e
	}
}

// nearer says that a names addresses above both better than b.
func nearer(a, b *entry, left *work.Purse) bool {
	return a.start > b.start || a.start == b.start && better(a, b, left)
}

// cut says that not all symbols were looked at: what is known then may be wrong.
func (p *pass) cut() bool { return p.left.Spent() }

// settled says that no further table can change an answer.
func (p *pass) settled() bool {
	for i := range p.wants {
		if p.wants[i].sized.table == nil {
			return false
		}
	}
	return true
}

// spread hands the nearest symbols on to the wanted addresses above them.
func (p *pass) spread() {
	for i := 1; i < len(p.wants); i++ {
		w, prev := &p.wants[i], &p.wants[i-1]
		w.ended = max(w.ended, prev.ended)
		if prev.label.table != nil && (w.label.table == nil || prev.label.start > w.label.start) {
			w.label = prev.label
		}
	}
	for i := len(p.wants) - 2; i >= 0; i-- {
		p.wants[i].next = min(p.wants[i].next, p.wants[i+1].next)
	}
}

// answer returns the symbol of v after spread, nil if none is valid there. A label without
// size is valid up to the next symbol, the end of a function that it is in, or the end
// of its section.
func (p *pass) answer(v module.Vaddr) *Symbol {
	w := &p.wants[p.first(uint64(v))]
	if w.sized.table != nil {
		return w.sized.symbol(w.sized.end)
	}
	l := &w.label
	if l.table == nil || w.addr >= l.end || w.ended > l.start {
		return nil
	}
	return l.symbol(min(l.end, w.next))
}
