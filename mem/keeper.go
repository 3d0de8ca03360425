package mem

import (
	"bytes"
	"slices"
)

// Keeper is a Reader that keeps a copy of what is read through it, so that the same can be read again when the target
// is gone. Of what changes meanwhile it keeps what was read last, which is what the reader went on with. It is for one
// goroutine at a time.
type Keeper struct {
	from   Reader
	most   int // bytes that may be kept
	size   int
	full   bool
	ranges []Range
	held   map[Addr]int // index of the range that begins there
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
	if n > 0 && !bytes.HasPrefix(k.at(addr), b[:n]) {
		k.Keep(Range{Start: addr, Data: bytes.Clone(b[:n])})
	}
	return n, err
}

// at is what is kept of the range that begins at addr.
func (k *Keeper) at(addr Addr) []byte {
	if i, ok := k.held[addr]; ok {
		return k.ranges[i].Data
	}
	return nil
}

// Keep keeps r as if it had been read.
func (k *Keeper) Keep(r Range) {
	before := k.at(r.Start)
	if n := len(r.Data); n < len(before) {
		r.Data = slices.Concat(r.Data, before[n:])
	}
	more := len(r.Data) - len(before)
	switch i, ok := k.held[r.Start]; {
	case len(r.Data) == 0:
		return
	case k.size+more > k.most:
		k.full = true
		return
	case ok:
		k.ranges[i] = r
	default:
		k.held[r.Start] = len(k.ranges)
		k.ranges = append(k.ranges, r)
	}
	k.size += more
}

// Ranges is what was kept, one range for each address that something was read at, in the order of the first reads.
func (k *Keeper) Ranges() []Range { return k.ranges }

// Full reports whether something was read that there was no room for.
func (k *Keeper) Full() bool { return k.full }

// Forget drops what was kept.
func (k *Keeper) Forget() {
	k.ranges, k.size, k.full = nil, 0, false
	clear(k.held)
}
