package golang

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// TestReadsTLS: the place of a thread's g is what the code reads by the thread pointer: as the Go linker, one of C and
// the loader of libraries have filled it in.
func TestReadsTLS(t *testing.T) {
	const at, slot = 0x9671a, 0x143fa8 // of a library
	r := &Runtime{memory: mem.NewOverlay(nil, mem.Range{Start: slot, Data: []byte{0xb0, 0xfb, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff}})}
	for _, c := range []struct {
		what, code string
		want       int64
	}{
		{"in the instruction", "554889e5 64488b3c25f8faffff", -0x508},
		{"a constant in a register", "49c7c6f8ffffff 644d8b36 90909090909090", -8},
		{"a word of the loader", "4c8b3587d80a00 644d8b36 90909090909090", -0x450},
		{"not by the thread pointer", "450f57ff4883ec20 4c8b3425f8faffff90", 0},
		{"above the thread pointer", "450f57ff4883ec20 644c8b342528000000", 0},
		{"cut", "49c7c6f8ffffff 644d8b36", 0},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.readsTLS(code, at); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.what, got, c.want)
		}
	}
}
