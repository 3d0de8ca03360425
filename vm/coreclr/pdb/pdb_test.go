package pdb

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// recorded is the unpacked PDB of testdata/shapes.dll.
func recorded(t testing.TB) []byte {
	t.Helper()
	image, err := os.ReadFile("../metadata/testdata/shapes.dll")
	if err != nil {
		t.Fatal(err)
	}
	v := view.Copied(nil, mem.Range{Start: 0x1000, Data: image})
	im, err := metadata.OpenImage(&v, 0x1000)
	if err != nil {
		t.Fatal(err)
	}
	data, err := Embedded(im, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLine: what testdata/shapes.txt says of Shapes.Gate.Rest, method 2.
func TestLine(t *testing.T) {
	f, err := Parse(recorded(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[uint32]int{0: 29, 1: 30, 11: 30, 12: 31, 17: 31, 18: 32, 1 << 30: 32} {
		file, line, err := f.Line(2, offset)
		if err != nil || line != want || file != "/src/shapes.cs" {
			t.Errorf("offset %d: %q, %d, %v, want line %d", offset, file, line, err, want)
		}
	}
	if _, _, err := f.Line(1<<20, 0); !errors.Is(err, metadata.ErrFormat) {
		t.Errorf("a method that is not there: %v", err)
	}
}

func pack(size uint32, data []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte("MPDB"), size)
	var packed bytes.Buffer
	w, _ := flate.NewWriter(&packed, 9)
	w.Write(data)
	w.Close()
	return append(out, packed.Bytes()...)
}

func TestUnpack(t *testing.T) {
	data := bytes.Repeat([]byte("BSJB"), 1000)
	b := work.New(1<<20, 1<<20)
	if got, err := unpack(pack(4000, data), b); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := unpack(pack(8, data), b); err != nil || len(got) != 8 {
		t.Errorf("more than it says: %d bytes, %v, want 8", len(got), err)
	}
	for name, test := range map[string]struct {
		packed []byte
		want   error
	}{
		"less than it says": {pack(4001, data), io.ErrUnexpectedEOF},
		"cut":               {pack(4000, data)[:12], io.ErrUnexpectedEOF},
		"no head":           {[]byte("MPDB"), ErrFormat},
		"another head":      {[]byte("MPDC\x01\x00\x00\x00\x00"), ErrFormat},
		"too large":         {pack(MaxSize+1, data), ErrFormat},
		"for the budget":    {pack(1<<21, make([]byte, 1<<21)), work.ErrMemory},
	} {
		if got, err := unpack(test.packed, b); !errors.Is(err, test.want) {
			t.Errorf("%s: %d bytes, %v, want %v", name, len(got), err, test.want)
		}
	}
	if steps, held := b.Left(); steps <= 0 || held != 1<<20-4000-8 {
		t.Errorf("%d steps and %d bytes are left", steps, held)
	}
	small := work.New(1<<17, 1<<20)
	if _, err := unpack(pack(1<<19, make([]byte, 1<<19)), small); !errors.Is(err, work.ErrSpent) {
		t.Errorf("more work than allowed: %v", err)
	}
}

// TestOtherFiles: metadata that are no PDB, and what is none at all.
func TestOtherFiles(t *testing.T) {
	windows := []byte("Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00")
	for name, data := range map[string][]byte{"nothing": nil, "a PDB of Windows": windows} {
		if _, err := Parse(data, work.New(1<<20, 1<<20)); err == nil {
			t.Errorf("%s is a portable PDB", name)
		}
	}
	data := bytes.Replace(recorded(t), []byte("#Pdb"), []byte("#Pxb"), 1)
	if _, err := Parse(data, nil); err == nil {
		t.Error("metadata without a PDB stream are a PDB")
	}
}

// use reads all lines, within a budget.
func use(data []byte, steps int64) (points int) {
	f, err := Parse(data, work.New(steps, 1<<22))
	if err != nil {
		return 0
	}
	for rid := range uint32(1 << 8) {
		f.Points(rid, func(p Point) bool {
			f.Document(p.Document)
			points++
			return true
		})
		f.Line(rid, 1<<31)
	}
	return points
}

// TestMutations: each byte of a PDB changed gives an error or some answer.
func TestMutations(t *testing.T) {
	data := recorded(t)
	for i := range data {
		for _, v := range []byte{0, 0x7f, 0xff} {
			old := data[i]
			data[i] = v
			use(data, 1<<14)
			data[i] = old
		}
	}
	if got, want := use(data, 1<<24), 289; got != want {
		t.Errorf("%d points are left, want %d", got, want)
	}
}

// FuzzPDB: no bytes panic, or take more than the budget.
func FuzzPDB(f *testing.F) {
	f.Add(recorded(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		use(data, 1<<22)
		unpack(data, work.New(1<<22, 1<<20))
	})
}
