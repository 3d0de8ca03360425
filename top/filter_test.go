package top

import (
	"testing"

	"github.com/fpstack/fpstack/profile"
)

func TestPattern(t *testing.T) {
	for _, tc := range []struct {
		expr, name string
		want       bool
	}{
		{"sort", "std::Sort", true}, {"Sort", "std::sort", false}, {"^a.c$", "abc", true}, {"a[", "xa[1]", true},
		{"(", "f()", true}, {"[z-a]", "[z-a]", true}, {"a{9999}", "a{9999}", true}, {"\xff(", "\uFFFD(", true},
	} {
		if got := pattern(tc.expr).MatchString(tc.name); got != tc.want {
			t.Errorf("%q on %q: got %v, want %v", tc.expr, tc.name, got, tc.want)
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"module:libc thread:w alloc", "thread:[", "(a|b)+", "module:", "\\", "a{2,1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := parseFilter(s)
		task := taskOf("a")
		v.matchesTask(&task)
		v.matchesRow(&group{rowKey: rowKey{Function: profile.Function{Name: "main"}}, modules: []string{"/bin/prog"}})
	})
}
