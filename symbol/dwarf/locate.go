package dwarf

import (
	"slices"
)

// held is the wanted addresses of one unit, by their number.
type held struct {
	unit   uint64 // offset of the unit
	wanted []int  // ascending
}

// claims is which units hold which addresses, kept when more than one call has asked.
type claims struct {
	calls int
	all   []claim
	whole bool // all is complete
}

// claim says that a unit has code at [lo, hi).
type claim struct{ lo, hi, unit uint64 }

// keepAfter is the number of calls after which claims are kept: a dump needs one or two.
const keepAfter = 2

// locate divides the wanted addresses among units. Where several claim one, the smallest range
// wins: a wide one may span the code of others.
func (d *Data) locate(want []uint64) []held {
	best := make([]claim, len(want))
	take := func(c claim) bool {
		i, j := span(want, c.lo, c.hi)
		for ; i < j; i++ {
			if b := &best[i]; b.hi == 0 || c.hi-c.lo < b.hi-b.lo {
				*b = c
			}
			if !d.spend(1) {
				return false
			}
		}
		return true
	}
	d.eachClaim(take)
	byUnit := map[uint64]int{}
	var out []held
	for i, b := range best {
		if b.hi == 0 {
			continue
		}
		at, ok := byUnit[b.unit]
		if !ok {
			at = len(out)
			byUnit[b.unit] = at
			out = append(out, held{unit: b.unit})
		}
		out[at].wanted = append(out[at].wanted, i)
	}
	return out
}

// span returns the numbers [i, j) of the wanted addresses in [lo, hi).
func span(want []uint64, lo, hi uint64) (i, j int) {
	if len(want) == 0 || hi <= want[0] || lo > want[len(want)-1] {
		return 0, 0
	}
	i, _ = slices.BinarySearch(want, lo)
	j = i
	for j < len(want) && want[j] < hi { // as many as the caller goes through anyway
		j++
	}
	return i, j
}

// eachClaim calls f for what every unit claims, until it returns false.
func (d *Data) eachClaim(f func(claim) bool) {
	if d.claims.whole {
		for _, c := range d.claims.all {
			if !f(c) {
				return
			}
		}
		return
	}
	d.claims.calls++
	keep := d.claims.calls > keepAfter
	emit := func(c claim) bool {
		if keep = keep && len(d.claims.all) < maxClaims && d.o.Budget.Hold(claimSize); keep {
			d.claims.all = append(d.claims.all, c)
		}
		return f(c)
	}
	listed, ok := d.aranges(emit)
	ok = ok && d.roots(listed, emit)
	if d.claims.whole = keep && ok; !d.claims.whole {
		d.claims.all = nil
	}
}

// aranges goes through .debug_aranges and returns the units that it lists. It is false if f
// said so. Source: DWARF 5, 6.1.2 and 7.21.
func (d *Data) aranges(f func(claim) bool) (listed map[uint64]bool, ok bool) {
	listed = map[uint64]bool{}
	r := d.reader(secAranges, 0)
	for r.more() {
		start := r.off
		in, offSize := r.sub()
		version := in.uint(2)
		unit := in.uint(offSize)
		size, segment := int(in.u8()), int(in.u8())
		if r.bad || in.bad || version != 2 || size != 4 && size != 8 || r.off == start {
			d.malformed(secAranges, uint64(start), "set of version %d is cut or not known", version)
			if r.bad || r.off == start {
				break
			}
			continue
		}
		in.skip(uint64(-(in.off - start) & (2*size - 1))) // tuples are aligned to their size
		for from := in.off; in.more(); {
			if in.off-from > often {
				if !d.spend(in.off - from) {
					return listed, false
				}
				from = in.off
			}
			in.skip(uint64(segment))
			lo, n := in.uint(size), in.uint(size)
			if in.bad || n == 0 { // the end, or a function that was dropped
				continue
			}
			if !listed[unit] {
				if !d.hold(listedSize) {
					return listed, false
				}
				listed[unit] = true
			}
			if lo < d.o.Low || lo >= d.o.High {
				continue
			}
			if !f(claim{lo, lo + n, unit}) {
				return listed, false
			}
		}
		if !d.spend(r.off - start) {
			return listed, false
		}
	}
	return listed, true
}

// roots goes through the root entries of the units that are not listed.
func (d *Data) roots(listed map[uint64]bool, f func(claim) bool) bool {
	ok := true
	for _, off := range d.scan() {
		if listed[off] {
			continue
		}
		if !ok || !d.spend(32) {
			return false
		}
		u := unit{d: d, at: place{off: off}} // not kept: there may be very many
		if !u.readHeader() || u.kind == utType || u.kind == utPartial || !u.readRoot() ||
			u.root.tag != tagCompileUnit && u.root.tag != tagSkeleton {
			continue
		}
		x := extent{u.root.low, u.root.high, u.root.ranges}
		u.each(x, func(lo, hi uint64) { ok = ok && f(claim{lo, hi, off}) })
	}
	return ok
}
