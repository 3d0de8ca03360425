package symbol

import (
	"path/filepath"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/tests/harness"
)

// A function that the linker dropped keeps its lines and ranges at address 0. Where the segment of code begins
// at 0 too they must not name the code that lies there.
func TestDroppedFunctionsNameNothing(t *testing.T) {
	const source = `
int kept(int x) { return x * 3; }
#define FOUR(x) x x x x
__attribute__((visibility("hidden"))) int dropped(volatile int *x)
{
	FOUR(FOUR(FOUR(FOUR(FOUR(*x = *x * 7 + 1;)))))
	return *x;
}
`
	for _, c := range []struct{ compiler, version string }{{"gcc", "4"}, {"gcc", "5"}, {"clang", "4"}, {"clang", "5"}} {
		t.Run(c.compiler+" version "+c.version, func(t *testing.T) {
			harness.Need(t, c.compiler)
			path := compile(t, c.compiler, "a.c", source, "-O1", "-gdwarf-"+c.version, "-shared", "-fPIC", "-nostdlib",
				"-ffunction-sections", "-Wl,--gc-sections", "-Wl,-z,noseparate-code")
			m := load(t, path)
			var kept uint64
			for _, s := range readelf(t, path, ".symtab") {
				if s.name == "kept" {
					kept = s.value
				}
			}
			if kept == 0 || kept > 0x1000 {
				t.Fatalf("kept lies at %#x, want it within the size of what was dropped", kept)
			}
			s := NewDWARF(m, DebugFileOf(m), DebugLinks{})
			out, err := s.Calls([]module.Vaddr{module.Vaddr(kept)})
			if err != nil || len(out[0]) != 1 || out[0][0].Func != "kept" || out[0][0].Line != 2 ||
				filepath.Base(out[0][0].File) != "a.c" {
				t.Errorf("at %#x: got %+v, %v, want kept at line 2", kept, out[0], err)
			}
			if out, _ := s.Calls([]module.Vaddr{0x40}); out[0] != nil { // the program headers
				t.Errorf("in the ELF header: got %+v, want nothing", out[0])
			}
		})
	}
}
