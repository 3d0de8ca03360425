package procfs

import (
	"slices"
	"strings"
	"testing"
)

func TestSimilar(t *testing.T) {
	programs := []Program{{1, []string{"systemd", "init"}}, {2, []string{"nginx"}}, {3, []string{"nginx"}},
		{4, []string{"redis-server"}},
		{5, []string{"MainThread", "node"}}, {6, []string{"sh"}}, {7, []string{strings.Repeat("n", 5000)}},
		{8, []string{"nging"}}}
	for _, tc := range []struct {
		name, written string
		want          []string
	}{
		{"two letters swapped", "ngnix", []string{"nginx"}},
		{"a letter missing, others nearer to another", "ngin", []string{"nging", "nginx"}},
		{"other case", "mainthread", []string{"MainThread"}},
		{"the beginning", "redis", []string{"redis-server"}},
		{"a longer mistake in a longer name", "redsi-servr", []string{"redis-server"}},
		{"nothing near", "postgres", nil},
		{"too short to tell", "n", nil},
		{"two letters have no mistakes", "sj", nil},
		{"nothing", "", nil},
		{"longer than any name", strings.Repeat("n", 5000), nil},
	} {
		if got := Similar(programs, tc.written); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %.20q: got %q, want %q", tc.name, tc.written, got, tc.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3},
		{"ca", "abc", 3}, {"é", "e", 1}} {
		if got := distance([]rune(tc.a), []rune(tc.b)); got != tc.want {
			t.Errorf("distance of %q and %q: got %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
