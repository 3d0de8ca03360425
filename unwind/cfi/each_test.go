package cfi

import (
	"encoding/binary"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestEach(t *testing.T) {
	eh := &section{addr: 0x10000}
	cie := eh.plainCIE()
	eh.fde(cie, 0x3000, 0x20)
	eh.fde(cie, 0x1000, 0x10)
	eh.fde(cie, 0, 0x10)     // removed by the linker
	eh.fde(cie, 0x2000, 0x0) // empty
	debug := &section{debug: true}
	debug.fde(debug.plainCIE(), 0x2000, 8)
	cut := &section{addr: 0x10000, data: append(slices.Clone(eh.data), 0x40, 0, 0, 0, 1)}
	tests := []struct {
		name  string
		cfg   Config
		stop  int // visits before the visitor has enough; 0: never
		want  string
		whole bool
	}{
		{"both sections, each by address", Config{EHFrame: Section{eh.addr, eh.data},
			DebugFrame: Section{0, debug.data}}, 0,
			".eh_frame 1000-1010 .eh_frame 3000-3020 .debug_frame 2000-2008 ", true},
		{"stopped by the visitor", Config{EHFrame: Section{eh.addr, eh.data}, DebugFrame: Section{0, debug.data}}, 1,
			".eh_frame 1000-1010 ", true},
		{"section that ends inside of an entry", Config{EHFrame: Section{cut.addr, cut.data}}, 0,
			".eh_frame 1000-1010 .eh_frame 3000-3020 ", false},
		{"no sections", Config{}, 0, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.WordSize, tt.cfg.Order = 8, binary.LittleEndian
			got, n := "", 0
			err := New(tt.cfg).Each(func(f FDE) bool {
				got += fmt.Sprintf("%s %x-%x ", f.Section, f.Start, f.End)
				n++
				return n != tt.stop
			})
			if got != tt.want || (err == nil) != tt.whole {
				t.Errorf("got %q, %v; want %q, whole %v", got, err, tt.want, tt.whole)
			}
		})
	}
}

// TestEachAgreesWithReadelf counts the FDEs of a library as readelf does.
func TestEachAgreesWithReadelf(t *testing.T) {
	const path = "/lib/x86_64-linux-gnu/libc.so.6"
	cfg, _ := fileConfig(t, path)
	out, err := exec.Command("readelf", "--debug-dump=frames", path).Output()
	if len(out) == 0 { // it complains of debug links that it cannot follow, and reads on
		t.Skipf("readelf: %v", err)
	}
	want := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if _, pc, ok := strings.Cut(line, " FDE "); ok {
			_, pc, _ = strings.Cut(strings.TrimSpace(pc), "pc=")
			want[strings.TrimLeft(pc, "0")] = true
		}
	}
	got := map[string]bool{}
	if err := New(cfg).Each(func(f FDE) bool {
		got[strings.TrimLeft(fmt.Sprintf("%016x..%016x", f.Start, f.End), "0")] = true
		return true
	}); err != nil {
		t.Fatal(err)
	}
	for pc := range want {
		if !got[pc] {
			t.Errorf("readelf has an FDE %s", pc)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d FDEs, readelf has %d", len(got), len(want))
	}
}
