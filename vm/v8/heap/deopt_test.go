package heap

import "testing"

// TestExitsOf: where the exits begin is read, or nothing, whatever the symbols say that it is at.
func TestExitsOf(t *testing.T) {
	d := draw(t)
	inlining := d.Deopt.Inlining
	words := make([]Tagged, int(inlining)+3)
	words[0] = smi(len(words) - 1) // elements
	words[1+int(inlining)+1] = smi(0x40)
	data := d.object(d.Types.FixedArray, words...)
	words[1+int(inlining)+1] = smi(0x140)
	behind := d.object(d.Types.FixedArray, words...)
	none := d.object(d.Types.FixedArray, smi(0))
	for _, tc := range []struct {
		name     string
		deopt    Tagged
		inlining int32
		want     int // below 0: an error
	}{
		{"as it is", data, inlining, 0x40},
		{"behind the code", behind, inlining, -1},
		{"no data", none, inlining, -1},
		{"before the array", data, -2, -1},
		{"far before it", data, -1 << 31, -1},
		{"right behind it", data, inlining + 1, -1},
		{"far behind it", data, 1<<31 - 2, -1},
		{"no array", smi(3), inlining, -1},
	} {
		layout := *d.Layout
		layout.Deopt.Inlining = tc.inlining
		h := d.heap()
		h.Layout = &layout
		got, err := h.ExitsOf(Code{Size: 0x100, Deopt: tc.deopt})
		if tc.want < 0 && err == nil || tc.want >= 0 && (err != nil || got != tc.want) {
			t.Errorf("%s: got %#x, %v", tc.name, got, err)
		}
	}
}
