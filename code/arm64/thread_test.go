package arm64

import (
	"encoding/binary"
	"testing"
)

// Of Debian's libc6 2.36 and 2.43 and musl 1.2.3 and 1.2.6: the call that makes a thread, and what follows.
var (
	cloneGlibc = []uint32{0xaa0603e4, 0xd2801b88, 0xd4000001, 0xf100001f, 0x540000a0, 0x5400004b, 0xd65f03c0,
		0x17fcee66}
	clone3Glibc = []uint32{0xaa0a03e0, 0xd2803668, 0xd4000001, 0xf100001f, 0x540000c0, 0x5400004b, 0xd65f03c0,
		0x17fcc487}
	cloneMusl = []uint32{0xaa0603e4, 0xd2801b88, 0xd4000001, 0xb4000040, 0xd65f03c0, 0xa8c103e1, 0xd63f0020, 0xd2800ba8,
		0xd4000001}
	newerMusl = []uint32{0xaa0603e4, 0xd2801b88, 0xd4000001, 0xb4000040, 0xd65f03c0, 0xd280001d, 0xa8c103e1, 0xd63f0020,
		0xd2800ba8, 0xd4000001}
	// forkGlibc goes on with its caller, as vfork does.
	forkGlibc = []uint32{0xd2800003, 0xd2801b88, 0xd4000001, 0xb140041f, 0x54000148, 0x2a0003e2, 0x350000c0,
		0xd11980a0}
	vfork = []uint32{0x910003e1, 0xd2801b88, 0xd4000001, 0xb13ffc1f, 0x54000042, 0xd65f03c0, 0x17fdade0,
		0xd503201f}
)

// TestBeginsThread: the instructions between the call of clone and where a table says that there is no caller, or code
// of the program begins, and no others; what is not read is none of them.
func TestBeginsThread(t *testing.T) {
	for name, tc := range map[string]struct {
		code         []uint32
		begins, runs []int
	}{
		"clone of glibc":       {cloneGlibc, []int{3, 4}, nil},
		"clone3 of glibc":      {clone3Glibc, []int{3, 4}, nil},
		"clone of musl":        {cloneMusl, []int{3}, []int{5, 6, 7}},
		"clone of newer musls": {newerMusl, []int{3}, []int{5, 6, 7, 8}},
		"fork":                 {forkGlibc, nil, nil},
		"vfork":                {vfork, nil, nil},
	} {
		var code []byte
		for _, w := range tc.code {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		begins, runs := map[int]bool{}, map[int]bool{}
		for _, i := range tc.begins {
			begins[i*size] = true
		}
		for _, i := range tc.runs {
			runs[i*size] = true
		}
		for at := range len(code) + 1 {
			lo, hi := max(0, at-16), min(len(code), at+16) // as a walk reads it
			if got := BeginsThread(code[lo:hi], at-lo); got != begins[at] {
				t.Errorf("%s at %d: %t", name, at, got)
			}
			if got := RunsThread(code[lo:hi], at-lo); got != runs[at] {
				t.Errorf("%s at %d: it runs a thread %t", name, at, got)
			}
			if BeginsThread(code[:at], at) || RunsThread(code[:at], at) {
				t.Errorf("%s at %d: a thread begins in what is not there", name, at)
			}
		}
	}
}
