package profile

import "testing"

// TestKinds: each kind has a name of its own that leads back to it, and the kinds of languages are made code.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for k := Native; k <= Julia; k++ {
		name := k.String()
		back, ok := KindNamed(name)
		if back != k || !ok || seen[name] {
			t.Errorf("kind %d is named %q, which is %d, %v", k, name, back, ok)
		}
		seen[name] = true
		if want := k == JIT || k > Unknown; k.Made() != want {
			t.Errorf("%s: made %v, want %v", name, k.Made(), want)
		}
	}
}
