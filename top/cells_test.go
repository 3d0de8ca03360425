package top

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"main":            "main",
		"a\x1b[31mb":      `a\x1b[31mb`,
		"\x1b]0;title\a":  `\x1b]0;title\a`,
		"line\nbreak\r\t": `line\nbreak\r\t`,
		"\u202egpj.exe":   `\u202egpj.exe`,
		"\x9b31m":         "\uFFFD31m", // C1 control as a byte: no UTF-8
		"\u009b31m":       `\u009b31m`,
		"naïve日本":         "naïve日本",
		"a\u200bb\u00a0":  `a\u200bb\u00a0`,
		"\x7f":            `\x7f`,
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q): got %q, want %q", in, got, want)
		}
	}
	if got := escape(strings.Repeat("x", 1<<20)); len(got) > maxName+4 {
		t.Errorf("a name of a megabyte gives %d bytes", len(got))
	}
}

func TestWidth(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "日本": 4, "e\u0301": 1, "naïve": 5, "…": 1, "한글x": 5} {
		if got := width(in); got != want {
			t.Errorf("width(%q): got %d, want %d", in, got, want)
		}
	}
}

func TestCutMiddle(t *testing.T) {
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
		{"wide characters", "日本::漢字漢字", 10, "漢字漢字"},
		{"one cell", "abc::def", 1, "…"},
		{"no cells", "abc::def", 0, ""},
	} {
		if got := cutMiddle(tc.in, tc.cells); got != tc.want || width(got) > tc.cells {
			t.Errorf("%s: cutMiddle(%q, %d): got %q of %d cells, want %q", tc.name, tc.in, tc.cells, got, width(got), tc.want)
		}
	}
}

func TestCutPath(t *testing.T) {
	for _, tc := range []struct {
		in    string
		cells int
		want  string
	}{
		{"src/ae.c:97", 11, "src/ae.c:97"},
		{"/usr/src/redis/src/ae.c:97", 14, "/usr/…/ae.c:97"},
		{"/usr/src/networking.c:97", 14, "…tworking.c:97"},
		{"networking.c:97", 6, "….c:97"},
		{"日本語.c:97", 8, "…語.c:97"},
		{"x", 0, ""},
	} {
		if got := cutPath(tc.in, tc.cells); got != tc.want || width(got) > tc.cells {
			t.Errorf("cutPath(%q, %d): got %q, want %q", tc.in, tc.cells, got, tc.want)
		}
	}
}

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

// FuzzNames: whatever a name holds, what is shown prints and fits.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"std::vector<int>::push_back(int const&)", "a/b.c:3", "\x1b[2J", "日本::漢字", "operator()", "e\u0301\u0301", "\u0301", "a\x00::b", ")))>>>", ""} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, cells int) {
		if cells < 0 || cells > 1000 {
			return
		}
		clean := escape(s)
		for _, got := range []string{cutMiddle(clean, cells), cutPath(clean, cells), cutEnd(clean, cells)} {
			if width(got) > cells {
				t.Errorf("%q in %d cells: %q has %d", s, cells, got, width(got))
			}
			if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
				t.Errorf("%q in %d cells: %q does not print", s, cells, got)
			}
		}
	})
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
