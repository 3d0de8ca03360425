package coreclr

import "testing"

func TestVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"9.0.525.21509 @Commit: e36e4d1a":   {9, 0, 5},
		"10.0.1126.37416 @Commit: e2f47b01": {10, 0, 11},
		"8.0.3026.36720 @Commit: a83db3e0":  {8, 0, 30},
		"":                                  {},
		"9.0":                               {},
		"x.y.z":                             {},
		"99999999999999999999.0.1":          {},
	} {
		if got := parseVersion([]byte(text)); got != want {
			t.Errorf("%q is version %v, want %v", text, got, want)
		}
	}
}
