package coreclr

// A nibble map says where in a code heap methods begin: a nibble for each 32 bytes of code, eight in a 32-bit unit, the
// first in its highest bits. 0: none begins there; else the method begins 4 bytes times one less into them.
//
// In the linear form (up to .NET 9) one looks backwards until a nibble is set. In the constant form (from .NET 10 on) a
// unit that a long method covers says where it begins: its lowest nibble is more than 8 then.
//
// Source: src/coreclr/inc/nibblemapmacros.h; docs/design/datacontracts/ExecutionManager.md.
const (
	bucketBytes  = 32
	unitNibbles  = 8
	unitBytes    = bucketBytes * unitNibbles // of code
	unitSize     = 4                         // of the map
	stepBytes    = 4
	pointerAbove = 8 // the lowest nibble of a unit that says where a method begins
)

// nibbleOf is the nibble number i of unit.
func nibbleOf(unit uint32, i uint64) uint64 { return uint64(unit>>(28-4*(i%unitNibbles))) & 0xf }

// methodStart returns where the method begins that holds the byte at rel, both from the beginning of the heap: in a map
// of either form, whose unit number i is unit(i). Not more than maxBack units are looked at.
func methodStart(rel uint64, constant bool, maxBack int, unit func(i uint64) (uint32, bool)) (uint64, bool) {
	bucket := rel / bucketBytes
	u, ok := unit(bucket / unitNibbles)
	if !ok {
		return 0, false
	}
	if start, ok := pointedTo(u, constant); ok {
		return start, start <= rel
	}
	if n := nibbleOf(u, bucket); n != 0 && n-1 <= rel%bucketBytes/stepBytes {
		return bucket*bucketBytes + (n-1)*stepBytes, true
	}
	if start, ok := lastIn(u, bucket/unitNibbles, bucket%unitNibbles); ok {
		return start, true
	}
	if constant {
		maxBack = 1
	}
	for i := bucket / unitNibbles; i > 0 && maxBack > 0; maxBack-- {
		i--
		if u, ok = unit(i); !ok {
			return 0, false
		}
		if start, ok := pointedTo(u, constant); ok {
			return start, true
		}
		if start, ok := lastIn(u, i, unitNibbles); ok {
			return start, true
		}
	}
	return 0, false
}

// pointedTo is where the method begins that covers all of the code of a unit.
func pointedTo(u uint32, constant bool) (uint64, bool) {
	if low := u & 0xf; constant && low > pointerAbove {
		return uint64(u&^0xf) + uint64(low-pointerAbove-1)*stepBytes, true
	}
	return 0, false
}

// lastIn is where the last method begins that begins in unit number i before its nibble number end.
func lastIn(u uint32, i, end uint64) (uint64, bool) {
	for k := end; k > 0; k-- {
		if n := nibbleOf(u, k-1); n != 0 {
			return (i*unitNibbles+k-1)*bucketBytes + (n-1)*stepBytes, true
		}
	}
	return 0, false
}
