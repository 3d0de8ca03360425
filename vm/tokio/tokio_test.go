package tokio

import "testing"

// TestWorthSearching: a program of fifty megabytes that no compiler of Rust has made is not searched.
func TestWorthSearching(t *testing.T) {
	const gcc, rust = "GCC: (GNU) 10.3.1\x00", "GCC: (GNU) 10.3.1\x00rustc version 1.88.0 (6b00bc388 2025-06-23)\x00"
	for _, tt := range []struct {
		size    int
		comment string
		want    bool
	}{{50 << 20, gcc, false}, {50 << 20, rust, true}, {50 << 20, "", true}, {1 << 20, gcc, true}, {0, "", true}} {
		if got := worthSearching(tt.size, []byte(tt.comment)); got != tt.want {
			t.Errorf("%d bytes, made by %q: %v, want %v", tt.size, tt.comment, got, tt.want)
		}
	}
}
