package x86

import (
	"strings"
	"testing"
	"time"
)

// TestBoundedWork runs on code made to be expensive: branches, calls, switches and ends at
// every place. The limit is loose, for slow machines; unbounded work takes minutes.
func TestBoundedWork(t *testing.T) {
	const limit = 5 * time.Second
	for _, test := range []struct{ name, code string }{
		{"branches", "\x75\x00"},
		{"calls far ahead", "\xe8\x00\x40\x00\x00\x50"},
		{"switches and ends", "\x75\x02\xff\xe0\xc3"},
		{"pushes with branches", "\x53\x75\x01\x55"},
	} {
		for _, mode64 := range []bool{true, false} {
			c := &Code{Data: []byte(strings.Repeat(test.code, 1<<20/len(test.code))), Mode64: mode64}
			start := time.Now()
			c.FromEntry(0, 0, 0xffff)
			c.FromEntry(0, c.End(), c.End()-1)
			c.Forward(0x8000)
			if took := time.Since(start); took > limit {
				t.Errorf("%s: took %v, want less than %v", test.name, took, limit)
			} else {
				t.Logf("%s: %v", test.name, took)
			}
		}
	}
}
