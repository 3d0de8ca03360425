package symbol

import (
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
)

// forgotten notes which bytes of a table were let go of.
type forgotten struct {
	data []byte
	gone []bool
}

func (f *forgotten) forget(part []byte) {
	from := cap(f.data) - cap(part) // both end where the memory ends
	for i := range part {
		if at := from + i; at >= 0 && at < len(f.gone) {
			f.gone[at] = true
		}
	}
}

// TestLargeTableIsForgotten: who reads all symbols of a large program holds a piece of the table at a time, and of a
// small one all that others will read too.
func TestLargeTableIsForgotten(t *testing.T) {
	for _, row := range []struct {
		symbols int
		gone    bool
	}{{10, false}, {piece - 1, false}, {piece, true}, {piece + 1, true}, {3 * piece, true}, {2*piece + 77, true}} {
		table := &rawTable{data: make([]byte, 24*row.symbols), size: 24, wide: true}
		f := &forgotten{table.data, make([]bool, len(table.data))}
		table.forget = f.forget
		p := newPass([]module.Vaddr{0x1000}, nil)
		p.scan(table)
		if p.cut() {
			t.Fatal("the pass was cut")
		}
		all, none := !slices.Contains(f.gone, false), !slices.Contains(f.gone, true)
		if row.gone && !all || !row.gone && !none {
			t.Errorf("%d symbols: all let go of %v, none %v", row.symbols, all, none)
		}
	}
}

// TestNameAcrossPieces: a name is found wherever it lies, also where two pieces that are searched meet.
func TestNameAcrossPieces(t *testing.T) {
	const name = "_PyRuntime"
	for _, at := range []int{0, 1<<20 - 4, 1<<20 - len(name), 1 << 20, 3<<20 - len(name)} {
		strings := make([]byte, 3<<20)
		copy(strings[at:], name)
		forgets := 0
		table := &rawTable{strings: strings, forget: func([]byte) { forgets++ }}
		if !table.contains([]string{name}) {
			t.Errorf("at %#x: not found", at)
		}
		copy(strings[at:], "_PyRunTime")
		if table.contains([]string{name}) {
			t.Errorf("at %#x: found though it is not there", at)
		}
		if forgets == 0 {
			t.Error("nothing was let go of")
		}
	}
}
