package symbol

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestIndexBy: a name is found where package bytes finds it, by whichever of its bytes is looked for.
func TestIndexBy(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 11))
	for range 20_000 {
		b := make([]byte, random.IntN(40))
		for i := range b {
			b[i] = "_Py\x00"[random.IntN(4)]
		}
		name := make([]byte, 1+random.IntN(4))
		for i := range name {
			name[i] = "_Py"[random.IntN(3)]
		}
		want := bytes.Index(b, name)
		for rare := range name {
			if got := indexBy(b, string(name), rare); got != want {
				t.Fatalf("%q in %q by byte %d: %d, want %d", name, b, rare, got, want)
			}
		}
	}
	if at := rarest([]byte("_ZN2v88internal_Py_n_t_i_m_e_u"), "_PyRuntime"); at != 3 {
		t.Errorf("the rarest byte is at %d, want that of R", at)
	}
}
