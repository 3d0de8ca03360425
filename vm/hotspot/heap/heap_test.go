package heap

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// TestPlain: a coloured reference says itself how far it is shifted, whatever colour is good now.
func TestPlain(t *testing.T) {
	l := Layout{coloured: true}
	const at = 0x40012345678
	for bit := range 4 {
		ref := uint64(at)<<(13+bit) | 1<<(12+bit) | 0xabc
		if got := l.plain(ref); got != at {
			t.Errorf("colour %d: got %#x, want %#x", bit, uint64(got), at)
		}
	}
	for _, bad := range []uint64{0, at << 13, at<<16 | 3<<12} {
		if got := l.plain(bad); got != 0 {
			t.Errorf("%#x leads to %#x", bad, uint64(got))
		}
	}
	for bit := range 4 { // as on arm64: the other three bits are set
		l := Layout{coloured: true, shifted: 16}
		if got := l.plain(uint64(at)<<16 | 0xf000&^(1<<(12+bit)) | 0xabc); got != at {
			t.Errorf("bit %d leads to %#x", bit, uint64(got))
		}
		if got := l.plain(uint64(at)<<16 | 1<<(12+bit)); got != 0 {
			t.Errorf("one bit of four leads to %#x", uint64(got))
		}
	}
	if l.coloured = false; l.plain(at) != at {
		t.Error("a plain reference is another")
	}
}

func TestScale(t *testing.T) {
	s := scale{true, 0x800000000, 3}
	if got := s.addr(0x10); got != 0x800000080 {
		t.Errorf("got %#x", uint64(got))
	}
	if got := s.addr(0); got != 0 {
		t.Errorf("null leads to %#x", uint64(got))
	}
	if got := (scale{}).addr(0x12345678); got != 0x12345678 {
		t.Errorf("a wide one leads to %#x", uint64(got))
	}
}

func TestText(t *testing.T) {
	const at = mem.Addr(0x1000)
	draw := func(n byte, text string) *view.View {
		b := make([]byte, 16, 64)
		b[12] = n
		v := view.Copied(nil, mem.Range{Start: at, Data: append(b, text...)})
		return &v
	}
	l := Layout{lengthAt: 12, bytesAt: 16}
	if got, err := l.Text(draw(2, "m\xe9"), at, false); got != "mé" || err != nil {
		t.Errorf("Latin-1: got %q, %v", got, err)
	}
	if got, err := l.Text(draw(2, "\xe5\x65"), at, true); got != "日" || err != nil {
		t.Errorf("UTF-16: got %q, %v", got, err)
	}
	if got, err := l.Chars(draw(1, "\xe5\x65"), at); got != "日" || err != nil {
		t.Errorf("chars: got %q, %v", got, err)
	}
	if got, err := l.Text(draw(9, "short"), at, false); err == nil {
		t.Errorf("a text that is not there in whole: %q", got)
	}
	if _, err := l.Text(draw(1, ""), 0, false); err == nil {
		t.Error("null has a text")
	}
}

func FuzzText(f *testing.F) {
	f.Add(append(make([]byte, 12), 2, 0, 0, 0, 'a', 'b'), true)
	f.Fuzz(func(t *testing.T, data []byte, wide bool) {
		const at = mem.Addr(0x1000)
		v := view.Copied(nil, mem.Range{Start: at, Data: data})
		l := Layout{lengthAt: 12, bytesAt: 16}
		if s, err := l.Text(&v, at, wide); len(s) > 3*maxText || err != nil && s != "" {
			t.Fatalf("%d bytes, %v", len(s), err)
		}
		if s, _ := l.Chars(&v, at); len(s) > 3*maxText {
			t.Fatalf("%d bytes", len(s))
		}
	})
}

// TestCut: a text that is longer than is read ends with an ellipsis.
func TestCut(t *testing.T) {
	data := append([]byte{0, 8, 0, 0}, strings.Repeat("ab", 1<<10)...) // its length, then its bytes
	v := view.Copied(nil, mem.Range{Start: 0x1000, Data: data})
	l := &Layout{bytesAt: 4}
	if s, err := l.Begin(&v, 0x1000, false, 3); err != nil || s != "aba…" {
		t.Errorf("got %q, %v", s, err)
	}
	for _, n := range []int{maxText, maxText + 1} {
		binary.LittleEndian.PutUint32(data, uint32(n))
		s, err := l.Text(&v, 0x1000, false)
		if want := n > maxText; err != nil || strings.HasSuffix(s, "…") != want || strings.Count(s, "a") != maxText/2 {
			t.Errorf("of %d bytes: %q, %v", n, s, err)
		}
	}
}
