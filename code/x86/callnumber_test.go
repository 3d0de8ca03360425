package x86

import "testing"

func TestCallNumber(t *testing.T) {
	// mov $230, %eax; syscall; neg %eax; ret is the way of glibc's clock_nanosleep without threads.
	mov, syscall := []byte{0xb8, 0xe6, 0, 0, 0}, []byte{0x0f, 0x05}
	ret := []byte{0xf7, 0xd8, 0xc3}
	join := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			out = append(out, p...)
		}
		return out
	}
	for _, tc := range []struct {
		name   string
		mode32 bool
		code   []byte
		at     int // behind the instruction that enters the kernel
		want   int64
		ok     bool
	}{
		{"number just before", false, join(mov, syscall, ret), 7, 230, true},
		// mov %rcx,%r10; mov %edx,%esi
		{"arguments loaded between", false, join(mov, []byte{0x49, 0x89, 0xca, 0x89, 0xd6}, syscall, ret), 12, 230,
			true},
		{"mov $230, %rax", false, join([]byte{0x48, 0xc7, 0xc0, 0xe6, 0, 0, 0}, syscall, ret), 9, 230, true},
		{"the last of two", false, join([]byte{0xb8, 1, 0, 0, 0}, mov, syscall, ret), 12, 230, true},
		{"a conditional jump over", false, join([]byte{0x74, 7}, mov, syscall, ret), 9, 230, true},
		{"a jump to the load", false, join(mov, syscall, []byte{0xeb, 0xf7}), 7, 230, true},
		{"a jump to the instruction", false, join([]byte{0x74, 5}, mov, syscall, ret), 9, 0, false},
		{"a jump back to it", false, join(mov, syscall, []byte{0xeb, 0xfc}), 7, 0, false},
		{"a call between", false, join(mov, []byte{0xe8, 0, 0, 0, 0}, syscall, ret), 12, 0, false},
		{"written between", false, join(mov, []byte{0x89, 0xf8}, syscall, ret), 9, 0, false}, // mov %edi,%eax
		{"a number from a register", false, join([]byte{0x48, 0x89, 0xf0}, syscall, ret), 5, 0, false},
		{"an indirect jump in the function", false, join([]byte{0xff, 0x24, 0xc5, 0, 0, 0, 0}, mov, syscall, ret), 14,
			0, false},
		{"no system call there", false, join(mov, []byte{0x90, 0x90}, ret), 7, 0, false},
		{"inside of an instruction", false, join([]byte{0xb8, 0xe6, 0, 0x0f, 0x05}, ret), 5, 0, false},
		{"at the beginning", false, join(syscall, ret), 2, 0, false},
		{"not an instruction", false, join(mov, syscall, []byte{0x06}), 7, 0, false},
		{"int $0x80", true, join([]byte{0xb8, 0xa2, 0, 0, 0, 0xcd, 0x80}, ret), 7, 162, true},
		{"int $0x80 of 64 bits", false, join([]byte{0xb8, 0xa2, 0, 0, 0, 0xcd, 0x80}, ret), 7, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &Code{Start: 0x1000, Data: tc.code, Mode64: !tc.mode32}
			got, ok := c.CallNumber(c.Start, c.End(), c.Start+uint64(tc.at))
			if got != tc.want && tc.ok || ok != tc.ok {
				t.Errorf("got %d, %v, want %d, %v", got, ok, tc.want, tc.ok)
			}
		})
	}
	c := &Code{Start: 0x1000, Data: join(mov, syscall, ret), Mode64: true}
	for _, bounds := range [][3]uint64{{0, 0x1007, 0x1007}, {0x1000, 0x2000, 0x1007}, {0x1007, 0x1000, 0x1007},
		{0x1000, 0x100a, 0x3000}, {0x1005, 0x100a, 0x1001}} {
		if n, ok := c.CallNumber(bounds[0], bounds[1], bounds[2]); ok {
			t.Errorf("[%#x, %#x) at %#x: got %d", bounds[0], bounds[1], bounds[2], n)
		}
	}
}
