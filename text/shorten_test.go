package text

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestWidth(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "日本": 4, "e\u0301": 1, "naïve": 5, "…": 1, "한글x": 5,
		"😀": 2} {
		if got := Width(in); got != want {
			t.Errorf("Width(%q): got %d, want %d", in, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		cells    int
		want     string
	}{
		{"fits", "std::sort", 9, "std::sort"},
		{"C++", "std::vector<int, std::allocator<int>>::push_back", 24, "std::vector<…::push_back"},
		{"parts inside of brackets are none", "std::function<void (a::b::c)>", 16, "function<void (…"},
		{"arguments go first", "ns::Class::method(std::string const&, int)", 20, "ns::Class…::method()"},
		{"operator", "ns::Some::Thing::operator<<(std::ostream&)", 22, "ns::Som…::operator<<()"},
		{"Go", "github.com/org/project/pkg.(*Type).Method", 20, "github.com/o….Method"},
		{"Rust", "<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend", 16, "<alloc:…::extend"},
		{"no parts", "a_very_long_name_in_C", 10, "a_very_lo…"},
		{"the last part is too long itself", "x::a_very_long_name_in_C", 10, "a_very_lo…"},
		{"a little of the first part", "server::part::handle", 11, "se…::handle"},
		{"nothing of the first part", "server::part::handle", 9, "…::handle"},
		{"the last part alone", "server::part::handle", 8, "handle"},
		{"less than the last part", "server::part::handle", 5, "hand…"},
		{"method of Go alone", "runtime.gcBgMarkWorker", 14, "gcBgMarkWorker"},
		{"wide characters", "日本::漢字漢字", 10, "漢字漢字"},
		{"wide characters without parts", "漢漢漢漢", 6, "漢漢…"},
		{"one cell", "abc::def", 1, "…"},
		{"no cells", "abc::def", 0, ""},
		{"below none", "abc::def", -3, ""},
		{"a megabyte", strings.Repeat("x", 1<<20) + "::f", 8, "xxxx…::f"},
	} {
		if got := Shorten(tc.in, tc.cells); got != tc.want || Width(got) > max(0, tc.cells) {
			t.Errorf("%s: Shorten(%.40q, %d): got %q of %d cells, want %q", tc.name, tc.in, tc.cells, got,
				Width(got), tc.want)
		}
	}
}

func TestShortenPath(t *testing.T) {
	for _, tc := range []struct {
		in    string
		cells int
		want  string
	}{
		{"src/ae.c:97", 11, "src/ae.c:97"},
		{"/usr/src/redis/src/ae.c:97", 14, "…/src/ae.c:97"},
		{"/usr/src/redis/src/ae.c:97", 9, "…/ae.c:97"},
		{"/usr/src/redis/src/ae.c:97", 8, "ae.c:97"},
		{"/usr/lib/re/__init__.py:7", 19, "…/re/__init__.py:7"},
		{"/usr/src/", 4, "…"},
		{"/usr/src/networking.c:97", 14, "…tworking.c:97"},
		{"networking.c:97", 6, "….c:97"},
		{"日本語.c:97", 8, "…語.c:97"},
		{"x", 0, ""},
		{strings.Repeat("x", 1<<20) + ".c:9", 6, "…x.c:9"},
	} {
		if got := ShortenPath(tc.in, tc.cells); got != tc.want || Width(got) > tc.cells {
			t.Errorf("ShortenPath(%.40q, %d): got %q, want %q", tc.in, tc.cells, got, tc.want)
		}
	}
}

// FuzzNames: whatever a name holds, what is shown prints and fits.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"std::vector<int>::push_back(int const&)", "a/b.c:3", "\x1b[2J", "日本::漢字",
		"operator()",
		"e\u0301\u0301", "\u0301", "a\x00::b", ")))>>>", "", "a::b(c)", "::", "a/", "x<y>::z", "漢::漢"} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, cells int) {
		if cells < 0 || cells > 1000 {
			return
		}
		for _, clean := range []string{Escape(s), Clean(s, utf8.RuneError)} {
			for _, got := range []string{Shorten(clean, cells), ShortenPath(clean, cells), ShortenEnd(clean, cells)} {
				if Width(got) > cells {
					t.Errorf("%q in %d cells: %q has %d", s, cells, got, Width(got))
				}
				if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
					t.Errorf("%q in %d cells: %q does not print", s, cells, got)
				}
			}
			for _, line := range strings.Split(Wrap(clean, cells, 2), "\n") {
				if cells > 0 && Width(line) > cells && strings.Contains(strings.Trim(line, " "), " ") {
					t.Errorf("%q wrapped at %d cells has the line %q", s, cells, line)
				}
			}
		}
	})
}
