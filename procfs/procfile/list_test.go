//go:build linux

package procfile

import "testing"

func FuzzAppendIDs(f *testing.F) {
	f.Add([]byte("0000000000000000\x18\x00\x044121\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, id := range appendIDs(nil, b) {
			if id < 0 {
				t.Errorf("%q: %d", b, id)
			}
		}
	})
}
