package x86

import "testing"

// TestBeginsThread: the instructions between the call of clone and where a table says that there is no caller, or code
// of the program begins, and no others.
func TestBeginsThread(t *testing.T) {
	const (
		clone3 = "\xb8\xb3\x01\x00\x00\x0f\x05\x48\x85\xc0\x7c\x18\x74\x01\xc3\x31\xed\x48\x83\xe4\xf0"
		musl   = "\x48\x89\x0e\x0f\x05\x85\xc0\x75\x0f\x31\xed\x5f\x41\xff\xd1\x89\xc7"
	)
	for code, want := range map[string]map[int]bool{clone3: {7: true, 10: true, 12: true},
		musl: {5: true, 7: true, 9: true, 11: true, 12: true}} {
		for at := range code {
			if got := BeginsThread([]byte(code), at); got != want[at] {
				t.Errorf("%x at %d: %t, want %t", code, at, got, want[at])
			}
			if got, want := ThreadReturns([]byte(code), at), code == musl && at == 15; got != want {
				t.Errorf("%x at %d: a thread returns there %t, want %t", code, at, got, want)
			}
		}
	}
	const fork = "\x0f\x05\x48\x85\xc0\x7c\x18\x74\x01\xc3\x48\x83" // which goes on with its caller
	for at := range fork {
		if BeginsThread([]byte(fork), at) || BeginsThread([]byte(clone3)[:16], at) {
			t.Errorf("at %d of other code, or of less of it, a thread begins", at)
		}
	}
}
