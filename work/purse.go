package work

import "io"

// A Purse takes so many steps at once: few at first, because what is left in it at the end is lost, and
// at most some ten microseconds, so that a signal is noticed soon.
const (
	firstPortion = 1 << 6
	portion      = 1 << 14
)

// Purse takes from a Budget in portions, for loops of a few nanoseconds a round. It is for one
// goroutine; the zero value allows everything.
type Purse struct {
	from  *Budget
	left  int64
	next  int64 // portion
	spent bool
}

// Purse returns an empty Purse that takes from b.
func (b *Budget) Purse() Purse { return Purse{from: b} }

// Spend takes n steps. It is false if they are not left, and stays so.
func (p *Purse) Spend(n int64) bool {
	if p.left -= n; p.left >= 0 {
		return true
	}
	return p.fill()
}

// Spent reports whether Spend was false once.
func (p *Purse) Spent() bool { return p.spent }

func (p *Purse) fill() bool {
	p.next = min(max(2*p.next, firstPortion), portion)
	want := p.next - p.left
	if p.spent || !p.from.Spend(want) {
		p.spent, p.left = true, 0
		return false
	}
	p.left += want
	return true
}

// Reader returns a reader of r that takes cost steps for each byte that it gives, and fails with
// b's reason when they are not left. It is for what is inflated: who reads through it can be stopped.
func (b *Budget) Reader(r io.Reader, cost int64) io.Reader {
	if b == nil {
		return r
	}
	return &reader{b, r, cost}
}

type reader struct {
	b    *Budget
	r    io.Reader
	cost int64
}

// atOnce bounds what is read before the budget is checked again, bytes.
const atOnce = 64 << 10

func (r *reader) Read(b []byte) (int, error) {
	if err := r.b.Err(); err != nil {
		return 0, err
	}
	n, err := r.r.Read(b[:min(len(b), atOnce)])
	if !r.b.Spend(int64(n)*r.cost) && err == nil {
		err = r.b.Refusal()
	}
	return n, err
}
