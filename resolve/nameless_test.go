package resolve_test

import (
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/unwind"
)

// TestNameless: code that the process made is called by its mapping, other addresses keep none.
func TestNameless(t *testing.T) {
	const rx = maps.Read | maps.Exec
	table := maps.NewTable([]maps.Mapping{
		{Start: 0x1000, End: 0x2000, Perm: rx, Path: "[anon:a/b]"},
		{Start: 0x2000, End: 0x3000, Perm: rx},
		{Start: 0x4000, End: 0x5000, Perm: rx, Inode: 7, Offset: 0x3000, Path: "/memfd:doublemapper", Deleted: true},
		{Start: 0x6000, End: 0x7000, Perm: maps.Read, Path: "[anon:data]"},
		{Start: 0x8000, End: 0x9000, Perm: rx, Path: "[vdso]"},
		{Start: 0xa000, End: 0xb000, Perm: rx, Inode: 9, Path: "/lib/x.so"},
	})
	made := &module.Module{Path: "/memfd:doublemapper", Deleted: true, Err: module.ErrNotELF}
	object := &module.Module{Path: "/lib/y.so", Deleted: true, Err: mem.ErrUnmapped}
	names := resolve.New(module.NewSet(table, module.Image{}), resolve.Options{})
	for _, c := range []struct {
		name   string
		frame  unwind.Frame
		want   string
		offset uint64
	}{
		{"name", unwind.Frame{PC: 0x1010, Interrupted: true}, "[jit anon:a/b]", 0x10},
		{"no name", unwind.Frame{PC: 0x2010}, "[jit 0x2000]", 0x10},
		{"call at the end", unwind.Frame{PC: 0x2000}, "[jit anon:a/b]", 0x1000},
		{"interrupted at the start", unwind.Frame{PC: 0x2000, Interrupted: true}, "[jit 0x2000]", 0},
		{"memfd", unwind.Frame{PC: 0x4010, Module: made}, "[jit memfd:doublemapper]", 0x3010},
		{"a site without a name", unwind.Frame{PC: 0x1010, Runtime: &jit{}, Site: 8}, "[jit anon:a/b]", 0x10},
		{"deleted object that was not read", unwind.Frame{PC: 0x4010, Module: object}, "", 0},
		{"not executable", unwind.Frame{PC: 0x6010}, "", 0},
		{"vdso", unwind.Frame{PC: 0x8010}, "", 0},
		{"file", unwind.Frame{PC: 0xa010}, "", 0},
		{"not mapped", unwind.Frame{PC: 0xc010}, "", 0},
	} {
		got := names.Stack(&unwind.Stack{Frames: []unwind.Frame{c.frame}}).Frames[0]
		if got.Func != c.want || got.Offset != c.offset || got.Addr != uint64(c.frame.PC) ||
			c.want != "" && (got.Kind != profile.Unknown || got.Module != -1) {
			t.Errorf("%s: got %+v, want %q+%#x", c.name, got, c.want, c.offset)
		}
	}
}
