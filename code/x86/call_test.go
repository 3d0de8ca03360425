package x86

import "testing"

func TestCallBefore(t *testing.T) {
	for _, test := range []struct {
		name, code string
		mode64     bool
		target     uint64
		direct, ok bool
	}{
		{"direct", "\x90\xe8\xfa\xff\xff\xff", true, 0x1000, true, true},
		{"direct with prefix 67", "\x67\xe8\xfa\xff\xff\xff", true, 0x1000, true, true},
		{"direct, behind this range", "\xe8\x00\x10\x00\x00", true, 0x2005, true, true},
		{"register", "\xff\xd0", true, 0, false, true},
		{"extended register", "\x41\xff\xd4", true, 0, false, true},
		{"notrack register", "\x3e\xff\xd0", true, 0, false, true},
		{"GOT slot", "\xff\x15\x00\x01\x00\x00", true, 0, false, true},
		{"SIB and displacement", "\x42\xff\x94\xe3\x00\x01\x00\x00", true, 0, false, true},
		{"386 direct", "\x90\xe8\xfa\xff\xff\xff", false, 0x1000, true, true},
		{"386 kernel entry", "\x65\xff\x15\x10\x00\x00\x00", false, 0, false, true},
		{"jump", "\xe9\xfa\xff\xff\xff", true, 0, false, false},
		{"nothing in front", "", true, 0, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &Code{Start: 0x1000, Data: []byte(test.code), Mode64: test.mode64}
			target, direct, ok := c.CallBefore(c.End())
			if target != test.target || direct != test.direct || ok != test.ok {
				t.Errorf("got %#x, %v, %v, want %#x, %v, %v", target, direct, ok, test.target, test.direct, test.ok)
			}
		})
	}
}

func TestStub(t *testing.T) {
	for _, test := range []struct {
		name, code string
		mode64     bool
		want       Stub
		ok         bool
	}{
		{"PLT", "\xff\x25\x00\x20\x00\x00", true, Stub{StubSlot, 0x3006}, true},
		{"PLT with endbr64 and bnd", "\xf3\x0f\x1e\xfa\xf2\xff\x25\x00\x20\x00\x00", true, Stub{StubSlot, 0x300b},
			true},
		{"386 PLT", "\xff\x25\x00\x20\x00\x00", false, Stub{StubSlot, 0x2000}, true},
		{"direct", "\xe9\x00\x20\x00\x00", true, Stub{StubJump, 0x3005}, true},
		{"short", "\xeb\x02", true, Stub{StubJump, 0x1004}, true},
		{"bound lazily", "\x68\x03\x00\x00\x00\xe9\x00\x00\x00\x00", true, Stub{StubIndex, 3}, true},
		{"bound lazily, with endbr64", "\xf3\x0f\x1e\xfa\x68\x01\x00\x00\x00\xf2\xe9\x00\x00\x00\x00", true,
			Stub{StubIndex, 1}, true},
		{"386 position-independent PLT", "\xff\xa3\x0c\x00\x00\x00", false, Stub{StubGOT, 12}, true},
		{"386 position-independent PLT with endbr32", "\xf3\x0f\x1e\xfb\xff\xa3\x0c\x00\x00\x00", false,
			Stub{StubGOT, 12}, true},
		{"through rbx, which amd64 has not for it", "\xff\xa3\x0c\x00\x00\x00", true, Stub{}, false},
		{"switch", "\xff\xe0", true, Stub{}, false},
		{"other code", "\x55\x48\x89\xe5", true, Stub{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &Code{Start: 0x1000, Data: []byte(test.code), Mode64: test.mode64}
			if got, ok := c.Stub(c.Start); got != test.want || ok != test.ok {
				t.Errorf("got %+v, %v, want %+v, %v", got, ok, test.want, test.ok)
			}
		})
	}
}

func TestSignalReturn(t *testing.T) {
	const (
		glibc64 = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"
		short64 = "\xb8\x0f\x00\x00\x00\x0f\x05"
		old386  = "\x58\xb8\x77\x00\x00\x00\xcd\x80"
		rt386   = "\xb8\xad\x00\x00\x00\xcd\x80"
	)
	for _, test := range []struct {
		name, code string
		at         int
		mode64     bool
		offset     int
		rt, ok     bool
	}{
		{"amd64", glibc64, 0, true, 0, true, true},
		{"amd64 at syscall", glibc64, 7, true, 7, true, true},
		{"amd64 short form at syscall", short64, 5, true, 5, true, true},
		{"386", old386, 0, false, 0, false, true},
		{"386 behind pop", old386, 1, false, 1, false, true},
		{"386 at int", old386, 6, false, 6, false, true},
		{"386 rt", rt386, 0, false, 0, true, true},
		{"386 rt at int", rt386, 5, false, 5, true, true},
		{"inside an instruction", glibc64, 3, true, 0, false, false},
		{"other mode", rt386, 0, true, 0, false, false},
		{"cut off", glibc64[:8], 0, true, 0, false, false},
		{"another system call at syscall", "\xb8\x10\x00\x00\x00\x0f\x05", 5, true, 0, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			offset, rt, ok := SignalReturn([]byte(test.code), test.at, test.mode64)
			if offset != test.offset || rt != test.rt || ok != test.ok {
				t.Errorf("got %d, %v, %v, want %d, %v, %v", offset, rt, ok, test.offset, test.rt, test.ok)
			}
		})
	}
}

func TestCallSlot(t *testing.T) {
	for _, tt := range []struct {
		name   string
		code   string
		mode64 bool
		slot   uint64
		ok     bool
	}{
		{"call *0x10(%rip)", "\xff\x15\x10\x00\x00\x00", true, 0x1016, true},
		{"call *-6(%rip)", "\xff\x15\xfa\xff\xff\xff", true, 0x1000, true},
		{"call *0x8049000", "\xff\x15\x00\x90\x04\x08", false, 0x8049000, true},
		{"jmp *0x10(%rip)", "\xff\x25\x10\x00\x00\x00", true, 0, false},
		{"call *%rax behind four bytes", "\x90\x90\x90\x90\xff\xd0", true, 0, false},
	} {
		c := &Code{Start: 0x1000, Data: []byte(tt.code), Mode64: tt.mode64}
		if slot, ok := c.CallSlot(0x1006); slot != tt.slot || ok != tt.ok {
			t.Errorf("%s: got %#x, %v, want %#x, %v", tt.name, slot, ok, tt.slot, tt.ok)
		}
	}
	c := &Code{Start: 0x1000, Data: []byte("\xff\x15"), Mode64: true}
	if _, ok := c.CallSlot(0x1002); ok {
		t.Error("code that begins inside: got a slot, want none")
	}
}
