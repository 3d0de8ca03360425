package resolve_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/unwind"
)

// framesOf is an .eh_frame with functions of 32 bytes at starts. Source: LSB 5.0, section 10.6.
func framesOf(a *regs.Arch, starts ...uint64) []byte {
	var out []byte
	entry := func(pointer uint32, fields ...byte) {
		fields = append(u32(a, nil, pointer), fields...)
		for len(fields)%8 != 4 {
			fields = append(fields, 0) // DW_CFA_nop
		}
		out = append(u32(a, out, uint32(len(fields))), fields...)
	}
	// Version 1, no augmentation, code alignment 1, data alignment -8, return address in column 16; CFA = SP+8.
	entry(0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x80|16, 1)
	for _, start := range starts {
		entry(uint32(len(out)+4), u64(a, u64(a, nil, start), 32)...)
	}
	return u32(a, out, 0)
}

// TestNamelessFunctions: addresses of a function without a name are one function to a profile, by the entry of the
// unwind table that covers them; where none does each is its own.
func TestNamelessFunctions(t *testing.T) {
	a := regs.AMD64
	file := objectOf(a, ".eh_frame", 0, framesOf(a, codeAt+0x100, codeAt+0x120, codeAt+0x200))
	table := maps.NewTable([]maps.Mapping{{Start: codeAt, End: codeAt + codeSize, Perm: maps.Read | maps.Exec,
		Offset: codeSize, Inode: 1, Path: "/x"}})
	set := module.NewSet(table, module.Image{Mapping: func(*maps.Mapping) (*module.File, error) {
		return &module.File{Data: file, Path: "/x"}, nil
	}})
	called := func(pc mem.Addr) unwind.Frame { return unwind.Frame{PC: pc, Module: set.Find(pc)} }
	stopped := called(codeAt + 0x120)
	stopped.Interrupted = true
	frames := []unwind.Frame{called(codeAt + 0x104), called(codeAt + 0x11f), called(codeAt + 0x120), stopped,
		called(codeAt + 0x20a), called(codeAt + 0x300)}
	for _, row := range []struct {
		opt  resolve.Options
		want []string
	}{
		{resolve.Options{}, []string{"x+0x10100", "x+0x10100", "x+0x10100", "x+0x10120", "x+0x10200", "x+0x10300"}},
		{resolve.Options{NoSymbols: true},
			[]string{"x+0x10104", "x+0x1011f", "x+0x10120", "x+0x10120", "x+0x1020a", "x+0x10300"}},
	} {
		b := profile.NewBuilder(profile.SamplesCount)
		b.Profile().Modules = []profile.Module{{Path: "/x"}}
		p := b.Profile()
		var got []string
		for _, list := range resolve.New(set, row.opt).Frames(frames) {
			last := list[len(list)-1]
			last.Module = 0
			got = append(got, p.Name(b.Frame(last)))
			if last.Addr != last.ModuleAddr {
				t.Errorf("%+v: the address is not kept", last)
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", fmt.Sprint(row.opt.NoSymbols), got, row.want)
		}
	}
}
