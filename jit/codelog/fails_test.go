package codelog

import (
	"fmt"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

// TestEveryReadFails: whichever read of the file, or of the code that it names, fails, a frame has its name, or a
// lesser stack is marked: the name as not sure, or the file as not read.
func TestEveryReadFails(t *testing.T) {
	code := append(function(1, 256), function(2, 256)...)
	first := fmt.Sprintf("4096 256 0 f %d\n4352 256 0 g %d\n", Digest(code[:256]), Digest(code[256:]))
	second := first + "4608 16 0 h\n"
	want := []string{"f", "g", "h"}
	look := func(p *process, m mem.Reader) (names []string, s unwind.Stack) {
		for _, text := range []string{first, second} {
			p.disk.write(text)
			p.work(time.Now(), settleWait)
		}
		s.Frames = []unwind.Frame{{PC: 4100}, {PC: 4400}, {PC: 4610}}
		p.Identify(&snapshot.Thread{Time: time.Now()}, &s, m)
		p.Settle()
		for _, f := range s.Frames {
			names = append(names, p.name(f))
		}
		return names, s
	}
	whole := mem.NewOverlay(nil, mem.Range{Start: 4096, Data: code})
	for ofFile := range 6 {
		for ofMemory := range 4 {
			p := newProcess(t, first)
			p.disk.fails = ofFile
			m := &memory.Failing{Reader: whole, At: ofMemory}
			got, s := look(p, m)
			for i := range want {
				switch f := s.Frames[i]; {
				case got[i] == "-" && p.Err() == nil:
					t.Errorf("read %d, %d: %s has no name, and nobody says why", ofFile, ofMemory, want[i])
				case got[i] != "-" && got[i] != want[i]:
					t.Errorf("read %d, %d: %q, want %q", ofFile, ofMemory, got[i], want[i])
				case got[i] != "-" && i < 2 && i+1 == ofMemory && !f.Unsure:
					t.Errorf("read %d, %d: %q was not compared, and does not say so", ofFile, ofMemory, got[i])
				}
			}
		}
	}
}
