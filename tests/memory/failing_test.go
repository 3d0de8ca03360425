package memory

import (
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// TestFailing: each read fails once, and each range is cut in each way.
func TestFailing(t *testing.T) {
	whole := []mem.Range{{Start: 0x1000, Data: []byte("abcd")}, {Start: 0x2000, Data: []byte("x")}}
	failed := map[int]bool{}
	EachRead(mem.NewOverlay(nil, whole...), 3, 10, func(_ string, m *Failing) {
		for n := 1; n <= 3; n++ {
			if _, err := m.ReadMem(make([]byte, 4), 0x1000); err != nil {
				failed[n] = true
				if n != m.At {
					t.Errorf("read %d fails, want %d", n, m.At)
				}
			}
		}
	})
	if len(failed) != 3 {
		t.Errorf("reads %v failed", failed)
	}
	all := &Failing{Reader: mem.NewOverlay(nil, whole...), At: 2, All: true}
	for n, want := range []bool{true, false, false} {
		if _, err := all.ReadMem(make([]byte, 1), 0x1000); (err == nil) != want {
			t.Errorf("from the second on: read %d: %v", n+1, err)
		}
	}
	left := map[string]int{}
	EachCut(2, 10, func(what string, edit func([]mem.Range) []mem.Range) {
		text := ""
		for _, r := range edit(whole) {
			text += string(r.Data) + " "
		}
		left[text]++
	})
	for text, n := range map[string]int{"x ": 1, "ab x ": 1, "cd x ": 1, "abc x ": 1, "abcd ": 3, "abcd x ": 1} {
		if left[text] != n {
			t.Errorf("%q was left %d times, want %d: %v", text, left[text], n, left)
		}
	}
}
