package memory

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

func TestImage(t *testing.T) {
	m := NewImage(0x7ffe0000, 8, binary.LittleEndian).
		Word(0x401136).
		Label("fp").Ref("next").
		Skip(1).
		Label("next").Word(7).Bytes(1, 2)
	if got := m.Addr("next"); got != 0x7ffe0018 {
		t.Errorf("Addr(next) = %#x, want 0x7ffe0018", got)
	}
	o := mem.NewOverlay(nil, m.Range())
	for addr, want := range map[mem.Addr]uint64{0x7ffe0000: 0x401136, 0x7ffe0008: 0x7ffe0018, 0x7ffe0018: 7} {
		if got, err := mem.Uint(o, addr, 8, binary.LittleEndian); got != want || err != nil {
			t.Errorf("word at %#x = %#x, %v; want %#x", addr, got, err, want)
		}
	}
	narrow := NewImage(0x1000, 4, binary.BigEndian).Label("a").Ref("a").Range()
	if want := []byte{0, 0, 0x10, 0}; !bytes.Equal(narrow.Data, want) {
		t.Errorf("32-bit big-endian reference = %x, want %x", narrow.Data, want)
	}
}
