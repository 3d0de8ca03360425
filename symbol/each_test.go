package symbol

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestContainsBy: names are found where package bytes finds one, by whichever byte they share.
func TestContainsBy(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 11))
	for range 20_000 {
		b := make([]byte, random.IntN(40))
		for i := range b {
			b[i] = "_Py\x00"[random.IntN(4)]
		}
		var names [2]string
		for n := range names {
			for range 1 + random.IntN(4) {
				names[n] += "_Py"[random.IntN(3):][:1]
			}
		}
		want := bytes.Contains(b, []byte(names[0])) || bytes.Contains(b, []byte(names[1]))
		for _, c := range []byte("_Py") {
			if !strings.Contains(names[0], string(c)) || !strings.Contains(names[1], string(c)) {
				continue
			}
			if got := containsBy(b, c, names[:]); got != want {
				t.Fatalf("%q in %q by %q: %v, want %v", names, b, c, got, want)
			}
		}
	}
	if c := rarest([]byte("_ZN2v88internal_Py_n_t_i_m_e_u"), "_PyRuntime"); c != 'R' {
		t.Errorf("the rarest byte is %q, want R", c)
	}
}
