package mem

import "bytes"

// Keeper is a Reader that keeps a copy of what is read through it, so that the same can be read again when the target
// is gone. It is for one goroutine at a time.
type Keeper struct {
	from   Reader
	most   int // bytes that may be kept
	size   int
	full   bool
	ranges []Range
	held   map[Addr]int // longest range that begins there
}

// NewKeeper returns a Keeper of what is read from r, which may be nil: then nothing is mapped. It keeps up to most
// bytes at a time.
func NewKeeper(r Reader, most int) *Keeper { return &Keeper{from: r, most: most, held: map[Addr]int{}} }

// ReadMem implements [Reader].
func (k *Keeper) ReadMem(b []byte, addr Addr) (int, error) {
	if k.from == nil {
		return 0, &FaultError{Addr: addr, Len: len(b), Err: ErrUnmapped}
	}
	n, err := k.from.ReadMem(b, addr)
	if n > 0 && k.held[addr] < n {
		k.Keep(Range{Start: addr, Data: bytes.Clone(b[:n])})
	}
	return n, err
}

// Keep keeps r as if it had been read.
func (k *Keeper) Keep(r Range) {
	switch n := len(r.Data); {
	case n == 0 || k.held[r.Start] >= n:
	case k.size+n > k.most:
		k.full = true
	default:
		k.size += n
		k.held[r.Start] = n
		k.ranges = append(k.ranges, r)
	}
}

// Ranges is what was kept, in the order of reading. Of an address that was read more than once the first answer comes
// first.
func (k *Keeper) Ranges() []Range { return k.ranges }

// Full reports whether something was read that there was no room for.
func (k *Keeper) Full() bool { return k.full }

// Forget drops what was kept.
func (k *Keeper) Forget() {
	k.ranges, k.size, k.full = nil, 0, false
	clear(k.held)
}
