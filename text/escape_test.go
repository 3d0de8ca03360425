package text

import (
	"strings"
	"testing"
)

func TestEscape(t *testing.T) {
	long := strings.Repeat("a", MaxName)
	tests := []struct{ name, in, want string }{
		{"plain", "aeMain", "aeMain"},
		{"letters of other scripts", "naïve_漢字", "naïve_漢字"},
		{"newline, tab, return", "a\nb\tc\rd", `a\nb\tc\rd`},
		{"colour of a terminal", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"title of a terminal", "\x1b]0;title\a", `\x1b]0;title\x07`},
		{"C1 control as UTF-8", "\u009b31m", `\u009b31m`},
		{"C1 control as a byte", "\x9b31m", `\x9b31m`},
		{"delete and NUL", "\x7f\x00", `\x7f\x00`},
		{"right-to-left override", "exe.\u202egnp", `exe.\u202egnp`},
		{"isolate and zero width", "\u2066\u200d", `\u2066\u200d`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"zero-width and no-break space", "a\u200bb\u00a0", `a\u200bb\u00a0`},
		{"tag beyond the basic plane", "\U000e0041", `\U000e0041`},
		{"half a character", "\xe6\xbc", `\xe6\xbc`},
		{"replacement character itself", "\ufffd", "\ufffd"},
		{"backslash", `\x1b`, `\\x1b`},
		{"longest", long, long},
		{"one too long", long + "b", long + "…"},
		{"cut inside a character", long[1:] + "漢", long[1:] + "…"},
		{"cut inside bytes that are no characters", long[1:] + "\x80\x80\x80\x80\x80", long[2:] + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Escape(tt.in); got != tt.want {
				t.Errorf("Escape(%.60q) = %.60q, want %.60q", tt.in, got, tt.want)
			}
		})
	}
}

func TestQuote(t *testing.T) {
	if got, want := Quote(`a"b\`), `"a\"b\\"`; got != want {
		t.Errorf("Quote = %s, want %s", got, want)
	}
}

func TestMessage(t *testing.T) {
	long := strings.Repeat("漢", MaxName)
	for in, want := range map[string]string{
		`open "a\nb": gone`:    `open "a\nb": gone`, // quoted before: it is not quoted twice
		"read \x1b[2J\x9b: no": `read \x1b[2J\x9b: no`,
		long:                   long,
	} {
		if got := Message(in); got != want {
			t.Errorf("Message(%.60q) = %.60q, want %.60q", in, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for name, c := range map[string][2]string{
		"plain":                   {"main", "main"},
		"letters of all kinds":    {"größe漢😀", "größe漢😀"},
		"escape and line end":     {"a\x1b[1m\nb", "a?[1m?b"},
		"C1 control":              {"a\u0085b", "a?b"},
		"bytes that are no UTF-8": {"a\xff\xfeb", "a\ufffd\ufffdb"},
		"text turned round":       {"\u202egnp\u2066", "?gnp?"},
		"line separators":         {"a\u2028b\u2029", "a?b?"},
		"no characters of XML":    {"\ufffe\uffff", "??"},
	} {
		many := NewCleaner('?')
		for range 2 {
			if got := many.Clean(c[0]); got != c[1] || got != Clean(c[0], '?') {
				t.Errorf("%s: Clean(%q) = %q, want %q", name, c[0], got, c[1])
			}
		}
	}
}

func TestLines(t *testing.T) {
	if got, want := Lines("a\n\tb\x1b[31m\n"), "a\n\tb\\x1b[31m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
