package coreclr

import "testing"

// unitsOf reads a map drawn as units.
func unitsOf(units []uint32) func(uint64) (uint32, bool) {
	return func(i uint64) (uint32, bool) {
		if i >= uint64(len(units)) {
			return 0, false
		}
		return units[i], true
	}
}

func TestNibbles(t *testing.T) {
	// A method begins at byte 4 of bucket 1, the next one at the beginning of bucket 25, in unit 3.
	linear := unitsOf([]uint32{0x02000000, 0, 0, 0x01000000})
	// In the constant form the units that the first covers wholly say where it begins.
	constant := unitsOf([]uint32{0x02000000, 36&^0xf | 9 + 1, 36&^0xf | 9 + 1, 0x01000000})
	for rel, want := range map[uint64]int64{0: -1, 35: -1, 36: 36, 63: 36, 100: 36, 300: 36, 700: 36, 799: 36, 800: 800,
		1000: 800, 2000: -1} {
		for form, units := range map[bool]func(uint64) (uint32, bool){false: linear, true: constant} {
			got := int64(-1)
			if start, ok := methodStart(rel, form, 100, units); ok {
				got = int64(start)
			}
			if got != want {
				t.Errorf("constant %t: the method at %d begins at %d, want %d", form, rel, got, want)
			}
		}
	}
}

func TestContract(t *testing.T) {
	c, err := parseContract([]byte(`{"version":0,"baseline":"empty","contracts":{"A":2,"B":"c1"},"types":{"T":{"!":24,
"F":8,"G":[16,"pointer"],"H":"0x20"}},"globals":{"N":["0xc","uint8"],"P":[[1],"pointer"],"M":7,"Q":[[9],"pointer"]},
"new":[]}`), []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"T.!": 24, "T.F": 8, "T.G": 16, "T.H": 32} {
		if got := c.offsets[name]; got != want {
			t.Errorf("%s is at %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]uint64{"N": 12, "P": 258, "M": 7} {
		if got := c.globals[name]; got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	if _, ok := c.globals["Q"]; ok || c.contracts["A"] != "2" || c.contracts["B"] != "c1" {
		t.Errorf("%v, %v", c.globals, c.contracts)
	}
}

func FuzzContract(f *testing.F) {
	f.Add([]byte(`{"types":{"T":{"F":[1,"x"]}},"globals":{"P":[[1],"pointer"]}}`), []byte("12345678"))
	f.Fuzz(func(t *testing.T, text, pointers []byte) {
		if c, err := parseContract(text, pointers); (c == nil) == (err == nil) {
			t.Fatalf("%v, %v", c, err)
		}
	})
}

func FuzzNibbles(f *testing.F) {
	f.Add(uint64(300), true, uint32(0x02000000), uint32(42))
	f.Fuzz(func(t *testing.T, rel uint64, constant bool, a, b uint32) {
		methodStart(rel%(1<<20), constant, maxBack, func(i uint64) (uint32, bool) {
			return a*uint32(i&1) | b*uint32(i>>1&1), true
		})
	})
}
