package x86

import "testing"

// FuzzCode runs every analysis over arbitrary bytes: no panic, bounded work, and a row says
// what it found or nothing at all.
func FuzzCode(f *testing.F) {
	for _, seed := range []string{
		"\x55\x48\x89\xe5\x48\x83\xec\x20\xe8\x00\x00\x00\x00\xc9\xc3",
		"\x4c\x8d\x54\x24\x08\x48\x83\xe4\xc0\x41\xff\x72\xf8\x55\x48\x89\xe5\x41\x52\xc3",
		"\xe8\x07\x00\x00\x00\xf3\x90\x0f\xae\xe8\xeb\xf9\x48\x8d\x64\x24\x08\xc3",
		"\x62\xf1\x7c\x48\x10\x07\x0f\x85\xf0\xff\xff\xff\x3e\xff\xe0\xeb\xfe",
		"\xc8\x10\x00\x03\x60\x61\x9c\x9d\x94\x8f\x04\x24\xc2\x04\x00",
	} {
		f.Add([]byte(seed), uint16(3), true)
		f.Add([]byte(seed), uint16(9), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16, mode64 bool) {
		c := &Code{Start: 0x1000, Data: data, Mode64: mode64}
		pc := c.Start + uint64(at)
		if in, ok := c.decode(pc); ok && (in.n < 1 || in.n > maxInst || pc+uint64(in.n) > c.End()) {
			t.Errorf("instruction at %#x has length %d, range ends at %#x", pc, in.n, c.End())
		}
		if row, ok := c.FromEntry(c.Start, 0, pc); ok && (pc < row.Start || pc >= row.End) {
			t.Errorf("row [%#x, %#x) does not hold %#x", row.Start, row.End, pc)
		}
		c.FromEntry(c.Start, c.End(), pc)
		c.FromEntry(pc, pc+1, c.Start)
		c.Forward(pc)
		c.CallBefore(pc)
		c.CallNumber(c.Start, c.End(), pc)
		c.Stub(pc)
		SignalReturn(data, int(at), mode64)
	})
}
