package hostile

import (
	"bytes"
	"debug/elf"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var write = flag.String("write", "", "folder to write one object of each kind to, for trials by hand")
var size = flag.Int("size", 4<<20, "about how many bytes an object written has")

// Each kind is an object that can be mapped, with its code at the place that is promised.
func TestKinds(t *testing.T) {
	for _, k := range Kinds {
		b := k.Make(64 << 10)
		f, err := elf.NewFile(bytes.NewReader(b))
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		loaded := false
		for _, p := range f.Progs {
			loaded = loaded || p.Type == elf.PT_LOAD && p.Vaddr == 0 && p.Off == 0 && p.Filesz == uint64(len(b)) &&
				p.Flags&elf.PF_X != 0
		}
		if !loaded && k.Name != "names" { // whose table is behind what is loaded
			t.Errorf("%s: no segment loads the whole file", k.Name)
		}
		if !bytes.HasPrefix(b[TextAt:], Code) {
			t.Errorf("%s: the code is not at %#x", k.Name, TextAt)
		}
		if *write != "" {
			name := filepath.Join(*write, strings.ReplaceAll(k.Name, " ", "-")+".so")
			if err := os.WriteFile(name, k.Make(*size), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}
