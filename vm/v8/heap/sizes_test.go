package heap

import (
	"debug/elf"
	"encoding/binary"
	"testing"
)

var le = binary.LittleEndian

// bytecodeSizes reads kBytecodeSizes of the node at path; nil if it is stripped.
func bytecodeSizes(t *testing.T, path string) Sizes {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		return nil
	}
	for _, s := range symbols {
		if s.Name != "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE" {
			continue
		}
		section := file.Sections[s.Section]
		b := make([]byte, s.Size)
		if _, err := section.ReadAt(b, int64(s.Value-section.Addr)); err != nil {
			t.Fatal(err)
		}
		return b
	}
	return nil
}
