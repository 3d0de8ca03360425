package perfmap

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/jit/codelog"
	"github.com/fpstack/fpstack/mem"
)

// lines lists what a book has, as written.
func lines(b *codelog.Book) string {
	var out strings.Builder
	b.Each(func(start, end mem.Addr, name string) bool {
		fmt.Fprintf(&out, "%x %x %s\n", uint64(start), uint64(end-start), name)
		return true
	})
	return out.String()
}

// TestRead: lines as node 22, Python 3.12, .NET 10 and wasmtime wrote them (seen), and lines that are none.
func TestRead(t *testing.T) {
	for _, row := range []struct{ name, text, want, summary string }{
		{"node", "7f3bcefc5dc0 198 JS:^inner /tmp/hot.js:3:15\n33f093bc2040 10 JS:~odd name; x /tmp/hot.js:6:37\n",
			"33f093bc2040 10 JS:~odd name; x /tmp/hot.js:6:37\n7f3bcefc5dc0 198 JS:^inner /tmp/hot.js:3:15\n", ""},
		{"python", "7f65333767c7 b py::outer:/tmp/hot.py\n7f65333767d2 b py::f.<locals>.<lambda>:/tmp/hot.py\n",
			"7f65333767c7 b py::outer:/tmp/hot.py\n7f65333767d2 b py::f.<locals>.<lambda>:/tmp/hot.py\n", ""},
		{".NET, with 0x", "0x559665985520 279 void [A] B.C::.cctor()[QuickJitted]\n",
			"559665985520 279 void [A] B.C::.cctor()[QuickJitted]\n", ""},
		{"wasmtime 24", "0x7f0000001000 0x20 wasm[0]::function[12]\r\n", "7f0000001000 20 wasm[0]::function[12]\n", ""},
		{"the newest covers", "1000 100 old\n2000 10 other\n1040 20 new\n",
			"1000 40 old\n1040 20 new\n1060 a0 old\n2000 10 other\n", ""},
		{"a tail that is being written", "1000 10 a\n2000 10 b", "1000 10 a\n", ""},
		{"bad lines", "\n# comment\n1000\n1000 10\n1000 10 \n-1 10 x\n+1 10 x\n1 +1 x\nffffffffffffffff 2 over\n" +
			"11112222333344445 1 x\nx 1 y\n1000 0 empty\n3000 8 good\n", "3000 8 good\n", "10 not understood"},
		{"any bytes", "1000 8 \x1b[31mred\x00\xff;\t x\n", "1000 8 \x1b[31mred\x00\xff;\t x\n", ""},
	} {
		var b codelog.Book
		p := &parser{}
		next, err := p.Read(strings.NewReader(row.text), 0, int64(len(row.text)), &b)
		whole := strings.LastIndexByte(row.text, '\n') + 1
		if got := lines(&b); err != nil || got != row.want || next != int64(whole) || b.Summary() != row.summary {
			t.Errorf("%s: got %q up to %d, %q, %v; want %q up to %d, %q", row.name, got, next, b.Summary(), err,
				row.want, whole, row.summary)
		}
	}
}

// TestReadsOn reads a file that grows by single bytes.
func TestReadsOn(t *testing.T) {
	const text = "1000 10 first one\n2000 10 second\n1000 8 third\n"
	var b codelog.Book
	p, next := &parser{}, int64(0)
	for to := range int64(len(text) + 1) {
		var err error
		if next, err = p.Read(strings.NewReader(text), next, to, &b); err != nil || next > to {
			t.Fatalf("at %d: %d, %v", to, next, err)
		}
	}
	if got := lines(&b); got != "1000 8 third\n1008 8 first one\n2000 10 second\n" {
		t.Errorf("got %q", got)
	}
}

// TestLongLines: a line longer than what is read at once is left out, wherever it lies, and no memory grows with it.
func TestLongLines(t *testing.T) {
	long := "1000 10 " + strings.Repeat("x", 3*chunk) + "\n"
	for name, text := range map[string]string{"first": long + "2000 10 b\n",
		"between": "2000 10 b\n" + long + "2000 10 b\n", "last": "2000 10 b\n" + long} {
		var b codelog.Book
		p := &parser{}
		next, err := p.Read(strings.NewReader(text), 0, int64(len(text)), &b)
		if got := lines(&b); got != "2000 10 b\n" || err != nil || next != int64(len(text)) ||
			b.Summary() != "1 not understood" {
			t.Errorf("%s: got %.40q up to %d of %d, %q, %v", name, got, next, len(text), b.Summary(), err)
		}
	}
	name := strings.Repeat("n", 10<<10)
	var b codelog.Book
	text := "2000 10 " + name + "\n"
	(&parser{}).Read(strings.NewReader(text), 0, int64(len(text)), &b)
	if got := lines(&b); len(got) > 5<<10 || b.Summary() != "1 names cut" {
		t.Errorf("a name of %d bytes: kept %d, %q", len(name), len(got), b.Summary())
	}
}

// TestGiant: of a file that is too large the last part is read, from a line's beginning.
func TestGiant(t *testing.T) {
	var text strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&text, "%x 10 f%d\n", 0x1000+16*i, i)
	}
	var b codelog.Book
	p := &parser{limit: 1000}
	next, err := p.Read(strings.NewReader(text.String()), 0, int64(text.Len()), &b)
	got := lines(&b)
	if err != nil || next != int64(text.Len()) || !strings.HasSuffix(text.String(), got) || len(got) > 1000 ||
		len(got) < 900 || !strings.Contains(b.Summary(), "bytes skipped") {
		t.Errorf("up to %d of %d, %d bytes, %q, %v", next, text.Len(), len(got), b.Summary(), err)
	}
}

// short is a file that was cut while it is read.
type short struct{ io.ReaderAt }

func (s short) ReadAt(b []byte, at int64) (int, error) {
	n, _ := s.ReaderAt.ReadAt(b, at)
	return n, io.EOF
}

// TestWrittenNames: a name that is cut says so, on whole characters.
func TestWrittenNames(t *testing.T) {
	for name, want := range map[string]string{
		"f":                                  "f",
		strings.Repeat("x", maxName):         strings.Repeat("x", maxName),
		strings.Repeat("x", maxName+1):       strings.Repeat("x", maxName) + "…",
		strings.Repeat("x", maxName-1) + "ä": strings.Repeat("x", maxName-1) + "…",
	} {
		var b strings.Builder
		w := NewWriter(&b)
		w.Add(0x1000, 0x1010, name)
		if err := w.Flush(); err != nil || b.String() != "1000 10 "+want+"\n" {
			t.Errorf("%d bytes: %q, %v", len(name), b.String(), err)
		}
	}
}

// TestTruncatedWhileRead: what is no longer there is no error; the next reading shows it.
func TestTruncatedWhileRead(t *testing.T) {
	const text = "1000 10 a\n2000 10 b\n3000 1"
	var b codelog.Book
	next, err := (&parser{}).Read(short{strings.NewReader(text)}, 0, 1<<20, &b)
	if got := lines(&b); err != nil || next != 20 || got != "1000 10 a\n2000 10 b\n" {
		t.Errorf("got %q up to %d, %v", got, next, err)
	}
}

// TestWriter: what is written is read again, and a name cannot make another line.
func TestWriter(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Add(0x1000, 0x1010, "plain name")
	w.Add(0x2000, 0x2001, "forged\n3000 10 evil\x1b[2J")
	w.Add(0x4000, 0x4004, strings.Repeat("é", 2000))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	var b codelog.Book
	if _, err := (&parser{}).Read(bytes.NewReader(out.Bytes()), 0, int64(out.Len()), &b); err != nil {
		t.Fatal(err)
	}
	var got []mem.Addr
	b.Each(func(start, _ mem.Addr, _ string) bool { got = append(got, start); return true })
	if fmt.Sprint(got) != "[4096 8192 16384]" || b.Summary() != "" || bytes.IndexByte(out.Bytes(), 0x1b) >= 0 {
		t.Errorf("got %v, %q of %q", got, b.Summary(), out.String())
	}
}

// FuzzRead: no bytes make it panic, loop or go back, and reading in two parts gives what reading in one gives.
func FuzzRead(f *testing.F) {
	f.Add([]byte("1000 10 a\n0x2000 0x10 b c\nbad\n1008 4 d"), uint8(7))
	f.Add([]byte("ffffffffffffffff 1 x\n0 ffffffffffffffff y\n"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		var one, two codelog.Book
		size := int64(len(data))
		if next, err := (&parser{}).Read(bytes.NewReader(data), 0, size, &one); err != nil || next < 0 || next > size {
			t.Fatalf("%d, %v", next, err)
		}
		p, next := &parser{}, int64(0)
		for _, to := range []int64{min(size, int64(cut)), size} {
			next, _ = p.Read(bytes.NewReader(data), next, to, &two)
		}
		if lines(&one) != lines(&two) {
			t.Errorf("in one: %q, in two: %q", lines(&one), lines(&two))
		}
	})
}
