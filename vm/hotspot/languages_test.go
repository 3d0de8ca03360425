package hotspot

import "testing"

// TestDemangled: names are those of the language that the source file is of; others stay.
func TestDemangled(t *testing.T) {
	for _, c := range []struct{ class, method, file, want string }{
		{"shop.till$ring_up_BANG_", "invokeStatic", "till.clj", "shop.till/ring-up!"},
		{"shop.till$total_price$fn__142", "invoke", "till.cljc", "shop.till/total-price/fn--142"},
		{"shop.till$total_price", "getRequiredArity", "till.clj", "shop.till$total_price.getRequiredArity"},
		{"shop.Vec", "$plus$plus", "Vec.scala", "shop.Vec.++"},
		{"shop.Till$", "odd$u0020name$bang", "Till.scala", "shop.Till$.odd name!"},
		{"shop.Till$", "is$uneven$u00", "Till.scala", "shop.Till$.is$uneven$u00"},
		{"shop.Till$", "half$ud83d$ude00", "Till.scala", "shop.Till$.half$ud83d$ude00"},
		{"shop.Till$", "open", "Till.scala", "shop.Till$.open"},
		{"shop.Till$ring_up", "invoke", "Till.java", "shop.Till$ring_up.invoke"},
	} {
		if got := demangled(c.class, c.method, c.file); got != c.want {
			t.Errorf("%s.%s: got %q, want %q", c.class, c.method, got, c.want)
		}
	}
}
