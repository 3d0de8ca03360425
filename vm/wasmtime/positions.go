package wasmtime

import "sort"

// positions says where in the file of the module the code comes from, by .wasmtime.addrmap: a count n, n offsets in the
// code, ascending, and n offsets in the file, 32 bits each. Source: crates/environ/src/address_map.rs.
type positions struct {
	code, file []byte
}

// noPosition is the offset in the file of code that comes from no instruction of it.
const noPosition = 1<<32 - 1

func newPositions(b []byte) positions {
	if len(b) < 4 {
		return positions{}
	}
	n := uint64(order.Uint32(b))
	if n*8 > uint64(len(b)-4) {
		return positions{}
	}
	return positions{b[4 : 4+4*n], b[4+4*n : 4+8*n]}
}

// at returns the offset in the file for an offset in the code; 0, false where none is known.
func (p positions) at(code uint32) (uint32, bool) {
	n := len(p.code) / 4
	i := sort.Search(n, func(i int) bool { return order.Uint32(p.code[4*i:]) > code }) - 1
	if i < 0 {
		return 0, false
	}
	if at := order.Uint32(p.file[4*i:]); at != noPosition {
		return at, true
	}
	return 0, false
}
