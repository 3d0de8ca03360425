package coreclr

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// placeTold is which IL the runtime said that a place in precompiled code belongs to.
type placeTold struct {
	function int
	native   uint32
	il       int
}

// recordedImage is what tests/dotnet wrote of an image, at base, and of its methods.
func recordedImage(t *testing.T, file string, base mem.Addr) (mem.Reader, []placeTold) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var ranges []mem.Range
	var told []placeTold
	for lines := bufio.NewScanner(f); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "has":
			at, data, _ := strings.Cut(rest, " ")
			var rva uint64
			b, err := hex.DecodeString(data)
			if _, err2 := fmt.Sscanf(at, "%x", &rva); err != nil || err2 != nil {
				t.Fatalf("%s: %q: %v, %v", file, lines.Text(), err, err2)
			}
			if n := len(ranges); n > 0 && ranges[n-1].End() == base+mem.Addr(rva) {
				ranges[n-1].Data = append(ranges[n-1].Data, b...)
				continue
			}
			ranges = append(ranges, mem.Range{Start: base + mem.Addr(rva), Data: b})
		case "is":
			var p placeTold
			if _, err := fmt.Sscanf(rest, "%d %d %d", &p.function, &p.native, &p.il); err != nil {
				t.Fatalf("%s: %q: %v", file, lines.Text(), err)
			}
			told = append(told, p)
		}
	}
	return mem.NewOverlay(nil, ranges...), told
}

// TestPrecompiledPlaces: places in precompiled methods belong to the IL that the runtime said. Of code that is the
// compiler's own it says 0.
func TestPrecompiledPlaces(t *testing.T) {
	files, _ := filepath.Glob("testdata/r2r-*.txt")
	if len(files) == 0 {
		t.Fatal("no images are recorded")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			const base = 0x7f0000000000
			memory, told := recordedImage(t, file, base)
			l, err := layoutOf(onVersion(Version{9, 0, 5}), nil)
			if err != nil {
				t.Fatal(err)
			}
			r := newRuntime(&object{port: &onAMD64}, 0, l, module.Image{Memory: memory})
			s := section{start: base, end: base + 1<<20, module: 1}
			header, err := headerAt(&r.lasting, base)
			if err != nil {
				t.Fatal(err)
			}
			r.images.Keep(imageKey{s.id}, &r2rImage{base: base, header: header}, 1)
			right := 0
			for _, p := range told {
				c := &code{section: s, kind: R2RCode, desc: 1, entry: p.function}
				m := &Method{Token: methodTokens | 1, NativeOffset: p.native}
				if r.ilOffset(m, c); !m.HasIL || m.ILErr != nil || m.IL != p.il && p.il != 0 {
					t.Errorf("function %d+%d: IL %d, %t, %v, want %d", p.function, p.native, m.IL, m.HasIL, m.ILErr,
						p.il)
				} else if m.IL == p.il {
					right++
				}
			}
			if right < 700 || right < len(told)*95/100 {
				t.Errorf("%d of %d places are right", right, len(told))
			}
			m, c := &Method{Token: methodTokens | 1}, &code{section: s, kind: R2RCode, desc: 1, entry: 1 << 20}
			if r.ilOffset(m, c); m.HasIL || m.ILErr != nil {
				t.Errorf("a function that is not there is at IL %d, %v", m.IL, m.ILErr)
			}
		})
	}
}

// TestNoLine: a method whose debug information cannot be read has no line, and says so, where there are lines.
func TestNoLine(t *testing.T) {
	n, m := shapes(t, nil)
	method := &Method{Class: ILMethod, Module: m, Token: methodTokens | 2, ILErr: errBounds}
	for i, want := range []string{"no line: .NET: " + errBounds.Error(), ""} {
		if f, _ := n.frame(method); f.Line != 0 || f.Note != want {
			t.Errorf("line %d, note %q, want %q", f.Line, f.Note, want)
		}
		if i == 0 {
			a, _ := n.modules.Get(assemblyKey{m.Metadata, m.ID})
			a.lines = &source{}
		}
	}
}
