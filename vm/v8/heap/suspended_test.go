package heap

import "testing"

// TestMayBeMap: of pairs of words those may begin a Map of promises and async functions whose second has the type, a
// size and flags. A pointer into a heap that lies where its address has the type in it, and a number, are none.
func TestMayBeMap(t *testing.T) {
	for _, node := range nodes {
		l := layoutOf(t, node)
		for _, typ := range []uint16{l.Types.Promise, l.Types.AsyncFunction, l.Types.AsyncGenerator, l.Types.generator()} {
			const meta = 0x3ff01e63151
			second := 0x1c<<56 | uint64(typ)<<32 | 0x080509 // nine words
			if typ == 0 || !l.MayBeMap(meta, second) {
				t.Errorf("node %s: type %d: %#x is no Map", node, typ, second)
			}
			for name, w := range map[string]uint64{"a pointer": uint64(typ)<<32 | 0x12345679,
				"a number": uint64(typ) << 32, "another type": second + 1<<40} {
				if l.MayBeMap(meta, w) {
					t.Errorf("node %s: type %d: %s, %#x, is a Map", node, typ, name, w)
				}
			}
			if l.MayBeMap(meta-1, second) {
				t.Errorf("node %s: a Map whose own Map is a number", node)
			}
		}
	}
}

// TestMaySuspend: what is pending, and what is suspended, by the bytes of its object.
func TestMaySuspend(t *testing.T) {
	object := func(at int, w, pointer Tagged) []byte {
		b := make([]byte, 80)
		le.PutUint64(b[24:], uint64(pointer))
		le.PutUint64(b[at:], uint64(w))
		return b
	}
	const some = Tagged(0x3ff01e63151)
	for _, tc := range []struct {
		name      string
		kind      Suspendable
		b         []byte
		may, sure bool
	}{
		{"pending", PendingPromise, object(32, smi(0), some), true, true},
		{"pending, with other flags", PendingPromise, object(32, smi(8), some), true, true},
		{"fulfilled", PendingPromise, object(32, smi(1), some), false, true},
		{"nobody waits", PendingPromise, object(32, smi(0), smi(0)), false, true},
		{"cut", PendingPromise, make([]byte, 39), true, false},
		{"suspended", AsyncFunction, object(64, smi(0), some), true, true},
		{"at its third await", AsyncGenerator, object(64, smi(2), some), true, true},
		{"running or ended", AsyncFunction, object(64, smi(-2), some), false, true},
		{"closed", Generator, object(64, smi(-1), some), false, true},
		{"cut", Generator, make([]byte, 71), true, false},
	} {
		if may, sure := MaySuspend(tc.kind, tc.b); may != tc.may || sure != tc.sure {
			t.Errorf("%s: %t, %t", tc.name, may, sure)
		}
	}
}
