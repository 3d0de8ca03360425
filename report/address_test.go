package report

import (
	"slices"
	"testing"
)

// TestAddressesIn: an address stands by itself, has ten digits at least, and those of a number in base 16 alone.
func TestAddressesIn(t *testing.T) {
	for words, want := range map[string][]uint64{
		"": nil,
		"waits for mutex 0x55d2aabb40e0 held by 7": {0x55d2aabb40e0},
		"0x55d2aabb40e0,0x55d2aabb40e8":            {0x55d2aabb40e0, 0x55d2aabb40e8},
		"owner word 12 at 0x7ffeaabb40e0":          {0x7ffeaabb40e0},
		"0xffffffffffffffff":                       {0xffffffffffffffff},
		"0x1ffffffffffffffff":                      nil,
		"0x123456789":                              nil,
		"0x55D2AABB40E0":                           nil,
		"0x55d2aabb40e0z":                          nil,
		"0x55d2aabb40e0_":                          nil,
		"a0x55d2aabb40e0":                          nil,
		"_0x55d2aabb40e0":                          nil,
		"0x0x55d2aabb40e0":                         nil,
		"é0x55d2aabb40e0é":                         {0x55d2aabb40e0},
		"\xff0x55d2aabb40e0\xff":                   {0x55d2aabb40e0},
		"0x and 0x":                                nil,
		"(with mutex 0x55d2aabb40e0), timeout 0x1234567890": {0x55d2aabb40e0, 0x1234567890},
	} {
		if got := addressesIn(words); !slices.Equal(got, want) {
			t.Errorf("%q: %#x, want %#x", words, got, want)
		}
	}
}
