package heap

import (
	"errors"
	"slices"
	"testing"
)

// TestTranslation: lists of frames as V8 14 writes them, with one that refers to an earlier one.
func TestTranslation(t *testing.T) {
	const (
		uncalled, builtin, literal, register, begin = 1, 2, 38, 39, 14
		same                                        = 45 // and more: as many instructions are those of the earlier list
	)
	earlier := []byte{begin, 0, 2 << 1, 2 << 1,
		uncalled, 21 << 1, 3 << 1, 0, 4, // offset 21, literal 3
		literal, 4, register, 7,
		builtin, 100, 9 << 1, 6, // of the caller's function, with a closure
		literal, 5 << 1}
	refers := []byte{begin, byte(len(earlier)), 2 << 1, 2 << 1,
		same + 3,
		uncalled, 6 << 1, 7 << 1, 1 << 1, 4}
	table := slices.Concat(earlier, refers)
	newest := translationFormats[len(translationFormats)-1].translationFormat
	d := &Deopts{format: newest, table: table}
	for _, tc := range []struct {
		name string
		at   int
		want []translated
	}{
		{"a list", 0, []translated{{21, 3, 0, -1, false}, {50, 9, -1, 5, true}}},
		{"refers to an earlier one", len(earlier), []translated{{21, 3, 0, -1, false}, {6, 7, 1, -1, false}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := d.translate(tc.at)
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, tc.want)
			}
		})
	}
	for _, tc := range []struct {
		name  string
		table []byte
		at    int
	}{
		{"begins outside", table, len(table)},
		{"begins within an instruction", table, 5},
		{"is cut off", table[:len(table)-3], len(earlier)},
		{"refers to before the table", []byte{begin, 9, 2, 2, same + 1}, 0},
		{"refers to itself", []byte{begin, 0, 2, 2, same + 1}, 0},
		{"has another number of functions", slices.Concat([]byte{begin, 0, 2 << 1, 1 << 1}, earlier[4:]), 0},
		{"has an operand without end", []byte{begin, 0, 2, 2, uncalled, 0x80, 0x80, 0x80}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, err := (&Deopts{format: newest, table: tc.table}).translate(tc.at); !errors.Is(err, ErrMoved) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// TestChecks: jumps to exits, and code that is late, which belongs to the jump to it.
func TestChecks(t *testing.T) {
	code := []byte{
		0x90,                               // 0
		0x0f, 0x84, 0x19, 0x00, 0x00, 0x00, // 1: jz 32, exit 0
		0x0f, 0x85, 0x08, 0x00, 0x00, 0x00, // 7: jnz 21, late
		0x90,                         // 13
		0xe9, 0x11, 0x00, 0x00, 0x00, // 14: jmp 36, exit 1
		0xc3, 0x90, // 19
		0x90, 0x90, 0x90, // 21: late
		0xe9, 0xf0, 0xff, 0xff, 0xff, // 24: jmp 13
		0x90, 0x90, 0x90, // 29
	}
	m := &CodeMap{Deopts: &Deopts{exits: len(code), translations: make([]int, 2)}}
	m.findChecks(code)
	for _, tc := range []struct{ at, before, behind int }{
		{0, -1, 0}, {6, -1, 0}, {7, 0, 1}, {13, 0, 1}, {18, 0, 1}, {19, 1, -1}, {21, 0, 1}, {30, 0, 1},
	} {
		if before, behind := m.Around(tc.at); before != tc.before || behind != tc.behind {
			t.Errorf("around %d are %d and %d, want %d and %d", tc.at, before, behind, tc.before, tc.behind)
		}
	}
}
