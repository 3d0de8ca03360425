package symbol

import (
	"strings"
	"testing"
	"time"
)

func TestDemangle(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		// expectations: c++filt and rustfilt, parameters cut by hand
		{"C", "main", "main"},
		{"C++ method", "_ZN2ns1C1fEiPKc", "ns::C::f"},
		{"C++ template", "_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back"},
		{"C++ function template shows no return type", "_Z3maxIiET_S0_S0_", "max<int>"},
		{"C++ lambda", "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"},
		{"C++ copy of the compiler", "_Z3foov.part.0", "foo"},
		{"unlikely part, C++", "_Z3foov.cold", "foo [cold]"},
		{"unlikely part, C", "foo.cold", "foo [cold]"},
		{"unlikely part, older gcc", "foo.isra.0.cold.17", "foo.isra.0 [cold]"},
		{"name of C that ends in a number", "sha256", "sha256"},
		{"only a suffix", ".cold", ".cold"},
		{"Rust legacy", "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"},
		{"Rust v0", "_RNvCs1234_7mycrate3foo", "mycrate::foo"},
		{"not mangled", "_Zinc", "_Zinc"},
		{"mangled inside", "x_ZN2ns1fEv", "x_ZN2ns1fEv"},
	} {
		if got := Demangle(c.in); got != c.want {
			t.Errorf("%s, %q: got %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestDemangleIsBounded(t *testing.T) {
	// each back reference doubles the name
	doubling := "_Z1f" + "1x" + "N1aIS_S_EE"
	for i := range 600 {
		doubling += "1bIS" + string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i%36]) + "_S_E"
	}
	for _, c := range []struct{ name, in string }{
		{"long", "_Z" + strings.Repeat("1a", 1<<16)},
		{"nested", "_Z" + strings.Repeat("N", 4000)},
		{"pointers", "_Z1f" + strings.Repeat("P", 4000) + "i"},
		{"doubling", doubling},
		{"templates in templates", "_Z1f" + strings.Repeat("1aI", 1000) + "i" + strings.Repeat("E", 1000)},
		{"Rust, nested", "_R" + strings.Repeat("Nv", 1900) + "C1a"},
	} {
		start := time.Now()
		if got := Demangle(c.in); len(got) > max(len(c.in), 1<<maxDemangled)+len(coldMark) {
			t.Errorf("%s: got %d bytes", c.name, len(got))
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s: took %v", c.name, d)
		}
	}
}

func FuzzDemangle(f *testing.F) {
	for _, s := range []string{"main", "_ZN2ns1C1fEiPKc", "_Z3foov.cold", "_RNvCs1234_7mycrate3foo",
		"_ZN4core3fmt5write17h0123456789abcdefE", "__Z", "_Z", "_RC0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if got := Demangle(name); got == "" && name != "" {
			t.Errorf("%q became nothing", name)
		}
	})
}

// A name of few bytes can ask for seconds: it stays as it is. Packs of usual size are spelled.
func TestExpansionIsBounded(t *testing.T) {
	local := func(pack string, expanded int) string {
		return "_ZZ1fIJ" + pack + "EEv" + strings.Repeat("DpT_", expanded) + "ENKUlvE_clEv"
	}
	usual := "_ZZ5applyIZ4mainEUlT_E_JidSsEEvOS0_DpOT0_ENKUlvE_clEv"
	begun := time.Now()
	if got := Demangle(usual); got == usual {
		t.Errorf("Demangle(%q) leaves it as it is", usual)
	}
	few := time.Since(begun)
	for _, name := range []string{
		local(strings.Repeat("i", 3800), 1), local(strings.Repeat("i", 500), 300),
		local(strings.Repeat("S_", 1500), 16),
		local(strings.Repeat("Lj1900E", 2)+strings.Repeat("i", 1900), 4),
		local("Lf1900aE"+strings.Repeat("i", 1900), 4), local("T1900_"+strings.Repeat("i", 1900), 4),
		local(strings.Repeat("1a", 1500), 4),
	} {
		if got := Demangle(name); got != name {
			t.Errorf("Demangle(%.60q, %d bytes) is %.60q, want it as it is", name, len(name), got)
		}
	}
	// What is let through takes some ten milliseconds at most.
	for n := 1; n < 3900; n += n/3 + 1 {
		for _, k := range []int{1, 4, 16, 64} {
			name := local(strings.Repeat("i", n), k)
			if len(name) > maxMangled || expansion(name) > maxExpansion {
				continue
			}
			begun = time.Now()
			Demangle(name)
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("%d elements, expanded %d times, take %v; a usual name %v", n, k, took, few)
			}
		}
	}
}
