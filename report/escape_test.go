package report

import (
	"strings"
	"testing"
)

func TestEscape(t *testing.T) {
	long := strings.Repeat("a", maxName)
	tests := []struct{ name, in, want string }{
		{"plain", "aeMain", "aeMain"},
		{"letters of other scripts", "naïve_漢字", "naïve_漢字"},
		{"newline, tab, return", "a\nb\tc\rd", `a\nb\tc\rd`},
		{"colour of a terminal", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"C1 control as UTF-8", "\u009b31m", `\u009b31m`},
		{"C1 control as a byte", "\x9b31m", `\x9b31m`},
		{"delete and NUL", "\x7f\x00", `\x7f\x00`},
		{"right-to-left override", "exe.\u202egnp", `exe.\u202egnp`},
		{"isolate and zero width", "\u2066\u200d", `\u2066\u200d`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"no-break space", "a\u00a0b", `a\u00a0b`},
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
			if got := escape(tt.in); got != tt.want {
				t.Errorf("escape(%.60q) = %.60q, want %.60q", tt.in, got, tt.want)
			}
		})
	}
}

func TestQuoted(t *testing.T) {
	if got, want := quoted(`a"b\`), `"a\"b\\"`; got != want {
		t.Errorf("quoted = %s, want %s", got, want)
	}
}
