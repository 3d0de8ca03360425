package jsondoc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
)

// read reads one object of lists of numbers.
func read(r *Reader) (sum int, err error) {
	if err := r.Next(); err != nil {
		return 0, err
	}
	_, err = r.Object(func(string) error {
		return r.List(3, func() error {
			var n int
			err := r.Decode(&n)
			sum += n
			return err
		})
	})
	return sum, err
}

func TestReader(t *testing.T) {
	limits := Limits{Size: 40, Element: 600}
	for name, tc := range map[string]struct{ in, want string }{
		"twice a member":       {`{"a":[1],"a":[2]}`, `member "a" comes twice`},
		"too many elements":    {`{"a":[1,2,3,4]}`, `"a": more than 3 elements`},
		"no list":              {`{"a":{}}`, `found { where [ is wanted`},
		"no number":            {`{"a":[1,"x"]}`, `"a": element 1: `},
		"cut":                  {`{"a":[1`, "cut short"},
		"a document too large": {`{"a":[1],` + strings.Repeat(" ", 400) + `"b":[2],` + strings.Repeat(" ", 400) + `"c":[3]` + strings.Repeat(" ", 400) + `}`, "a document of more than 40 bytes"},
		"an element too large": {`{"a":[` + strings.Repeat("1", 10000) + `]}`, "an element of more than 600 bytes"},
	} {
		r := NewReader(strings.NewReader(tc.in), limits)
		_, err := read(r)
		if err == nil || !strings.Contains(r.Error("doc/1", err).Error(), tc.want) || !strings.Contains(r.Error("doc/1", err).Error(), "read doc/1: at byte ") {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	r := NewReader(strings.NewReader(strings.Repeat(`{"a":[1,2],"b":[3]} `, 10)), limits) // each by itself is small enough
	for i := range 10 {
		if sum, err := read(r); sum != 6 || err != nil {
			t.Fatalf("document %d: got %d, %v", i, sum, err)
		}
	}
	if _, err := read(r); err != io.EOF {
		t.Errorf("behind the last: got %v, want io.EOF", err)
	}
}

// TestReaderOfCompressed: compressed data that were cut end with ErrUnexpectedEOF again and again.
func TestReaderOfCompressed(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(`{"a":[1,2]}` + strings.Repeat(" ", 100000)))
	z.Close()
	for n := 20; n < packed.Len(); n++ {
		z, err := gzip.NewReader(bytes.NewReader(packed.Bytes()[:n]))
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(z, Limits{Size: 1 << 20, Element: 1 << 20})
		if _, err = read(r); err == nil {
			err = r.End()
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d: got %v", n, err)
		}
	}
}

func TestHex(t *testing.T) {
	for _, v := range []uint64{0, 0x1f, 1<<64 - 1} {
		if got, err := ParseHex(Hex(v)); got != v || err != nil {
			t.Errorf("%#x came back as %#x, %v", v, got, err)
		}
	}
	for _, s := range []string{"", "0x", "1f", "0x-1", "0x10000000000000000", "0x00000000000000001"} {
		if got, err := ParseHex(s); err == nil {
			t.Errorf("ParseHex(%q): got %#x", s, got)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"{\n\"a\":1}":     "{\n\"a\":1}",
		`"größe 漢"`:       `"größe 漢"`,
		"\"\u202e\x7f\"":  `"\u202e\u007f"`,
		"\"a\U000e0041\"": `"a\udb40\udc41"`,
	} {
		if got := string(Printable([]byte(in))); got != want {
			t.Errorf("Printable(%q): got %q, want %q", in, got, want)
		}
	}
}
