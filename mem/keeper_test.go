package mem

import (
	"bytes"
	"errors"
	"testing"
)

func TestKeeper(t *testing.T) {
	from := NewOverlay(nil, Range{0x1000, []byte("abcdefgh")})
	k := NewKeeper(from, 8)
	var b [4]byte
	for _, at := range []Addr{0x1000, 0x1000, 0x1006} { // the last one is mapped in part
		k.ReadMem(b[:], at)
	}
	again := NewOverlay(nil, k.Ranges()...)
	if r := k.Ranges(); len(r) != 2 || k.Full() {
		t.Errorf("kept %v, full %v; want one range for each address", r, k.Full())
	}
	if n, err := again.ReadMem(b[:], 0x1000); n != 4 || err != nil || !bytes.Equal(b[:], []byte("abcd")) {
		t.Errorf("read again: %q, %v", b[:n], err)
	}
	if n, err := again.ReadMem(b[:], 0x1006); n != 2 || !errors.Is(err, ErrUnmapped) || string(b[:n]) != "gh" {
		t.Errorf("read again at the end: %q, %v", b[:n], err)
	}
	if n, err := k.ReadMem(b[:], 0x1002); n != 4 || err != nil || !k.Full() || len(k.Ranges()) != 2 {
		t.Errorf("beyond the bound: %d bytes, %v, full %v, %d ranges; want them read and not kept", n, err, k.Full(),
			len(k.Ranges()))
	}
	if k.Forget(); k.Full() || len(k.Ranges()) != 0 {
		t.Error("something is kept after Forget")
	}
	k.ReadMem(b[:], 0x1002)
	if len(k.Ranges()) != 1 {
		t.Error("nothing is kept after Forget")
	}
	var fault *FaultError
	if _, err := NewKeeper(nil, 8).ReadMem(b[:], 1); !errors.As(err, &fault) {
		t.Errorf("without a memory: %v, want a FaultError", err)
	}
}

// TestKeeperChanged: of what was read twice the last answer is kept, and what an earlier one had beyond it.
func TestKeeperChanged(t *testing.T) {
	data := []byte("abcdefgh")
	k := NewKeeper(NewOverlay(nil, Range{0x1000, data}), 8)
	var b [6]byte
	k.ReadMem(b[:], 0x1000)
	copy(data, "ABCDEFGH")
	k.ReadMem(b[:4], 0x1000)
	if r := k.Ranges(); len(r) != 1 || string(r[0].Data) != "ABCDef" {
		t.Errorf("kept %v, want one range, ABCDef", r)
	}
	if k.ReadMem(b[:], 0x1000); string(k.Ranges()[0].Data) != "ABCDEF" || k.Full() {
		t.Errorf("kept %v, full %v", k.Ranges(), k.Full())
	}
}
