package profile

import (
	"testing"
	"unicode/utf8"
)

func TestLossless(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"plain", "std::vector<int>", "std::vector<int>"},
		{"control characters are JSON's matter", "a\x00\n\x1b", "a\x00\n\x1b"},
		{"backslash", `a\b`, `a\\b`},
		{"what looks escaped", `\xff`, `\\xff`},
		{"half a character", "\xe6\xbc", `\xe6\xbc`},
		{"surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"replacement character itself", "\ufffd", "\ufffd"},
		{"last byte", "漢\xff", `漢\xff`},
	} {
		got := Lossless(tt.in)
		if got != tt.want || !utf8.ValidString(got) {
			t.Errorf("%s: Lossless(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
		if back, ok := Original(got); back != tt.in || !ok {
			t.Errorf("%s: Original(%q) = %q, %t, want %q", tt.name, got, back, ok, tt.in)
		}
	}
}

func TestOriginalOfWhatNobodyWrote(t *testing.T) {
	for in, want := range map[string]string{`\`: `\`, `a\q`: `a\q`, `\x`: `\x`, `\x4`: `\x4`, `\xg0\\`: `\xg0\`,
		`\x+1`: `\x+1`, `\x41\`: `A\`} {
		if got, ok := Original(in); got != want || ok {
			t.Errorf("Original(%q) = %q, %t, want %q, false", in, got, ok, want)
		}
	}
}

func FuzzLossless(f *testing.F) {
	for _, s := range []string{"a", `\`, `\xff`, "\xff\\", "漢\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := Lossless(s)
		if back, ok := Original(text); back != s || !ok || !utf8.ValidString(text) {
			t.Errorf("%q as %q came back as %q, %t", s, text, back, ok)
		}
	})
}
