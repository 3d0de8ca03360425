package maps

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

func TestChangedCode(t *testing.T) {
	file := func(start, end mem.Addr, perm Perm, offset int64, inode uint64) Mapping {
		return Mapping{Start: start, End: end, Perm: perm, Offset: offset, Dev: 1, Inode: inode, Path: "/lib"}
	}
	anonymous := func(start, end mem.Addr, perm Perm) Mapping { return Mapping{Start: start, End: end, Perm: perm} }
	deleted := file(0x1000, 0x3000, Read|Exec, 0, 7)
	deleted.Deleted = true
	for _, tc := range []struct {
		name          string
		before, after []Mapping
		want          Spans
	}{
		{"nothing", nil, nil, nil},
		{"the same", []Mapping{file(0x1000, 0x3000, Read|Exec, 0, 7)}, []Mapping{file(0x1000, 0x3000, Read|Exec, 0, 7)},
			nil},
		{"unmapped", []Mapping{file(0x1000, 0x3000, Read|Exec, 0, 7)}, nil, Spans{{Start: 0x1000, End: 0x3000}}},
		{"mapped", nil, []Mapping{file(0x1000, 0x3000, Read|Exec, 0, 7)}, Spans{{Start: 0x1000, End: 0x3000}}},
		{"another file", []Mapping{file(0x1000, 0x3000, Read|Exec, 0, 7)},
			[]Mapping{file(0x1000, 0x3000, Read|Exec, 0, 8)}, Spans{{Start: 0x1000, End: 0x3000}}},
		{"the file was deleted", []Mapping{file(0x1000, 0x3000, Read|Exec, 0, 7)}, []Mapping{deleted},
			Spans{{Start: 0x1000, End: 0x3000}}},
		{"other bytes of the file", []Mapping{file(0x1000, 0x3000, Read|Exec, 0, 7)},
			[]Mapping{file(0x1000, 0x3000, Read|Exec, 0x1000, 7)}, Spans{{Start: 0x1000, End: 0x3000}}},
		{"mapped elsewhere", []Mapping{file(0x1000, 0x3000, Read|Exec, 0, 7)},
			[]Mapping{file(0x2000, 0x4000, Read|Exec, 0, 7)}, Spans{{Start: 0x1000, End: 0x4000}}},
		{"split", []Mapping{file(0x1000, 0x3000, Read|Exec, 0, 7)},
			[]Mapping{file(0x1000, 0x2000, Read|Exec, 0, 7), file(0x2000, 0x3000, Read|Exec|Write, 0x1000, 7)}, nil},
		{"a part lost its right", []Mapping{file(0x1000, 0x4000, Read|Exec, 0, 7)},
			[]Mapping{file(0x1000, 0x2000, Read|Exec, 0, 7), file(0x2000, 0x3000, Read, 0x1000, 7),
				file(0x3000, 0x4000, Read|Exec, 0x2000, 7)}, Spans{{Start: 0x2000, End: 0x3000}}},
		{"data", []Mapping{file(0x1000, 0x3000, Read, 0, 7)}, []Mapping{file(0x1000, 0x3000, Read, 0, 8),
			anonymous(0x5000, 0x6000, Read|Write)}, nil},
		{"code of no file grew", []Mapping{anonymous(0x2000, 0x3000, Read|Exec)},
			[]Mapping{anonymous(0x1000, 0x4000, Read|Exec|Write)},
			Spans{{Start: 0x1000, End: 0x2000}, {Start: 0x3000, End: 0x4000}}},
		{"a file over code of no file", []Mapping{anonymous(0x1000, 0x3000, Read|Exec)},
			[]Mapping{file(0x1000, 0x3000, Read|Exec, 0, 7)}, Spans{{Start: 0x1000, End: 0x3000}}},
		{"at the end of the address space", []Mapping{anonymous(1<<64-0x2000, 1<<64-1, Exec)}, nil,
			Spans{{Start: 1<<64 - 0x2000, End: 1<<64 - 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, after := NewTable(tc.before), NewTable(tc.after)
			if got := ChangedCode(before, after); !slices.Equal(got, tc.want) {
				t.Errorf("got  %#x\nwant %#x", got, tc.want)
			}
			if got := ChangedCode(after, before); !slices.Equal(got, tc.want) {
				t.Errorf("backwards: got %#x, want %#x", got, tc.want)
			}
		})
	}
}

// Each address is judged as both tables say of it alone.
func TestChangedCodeAnywhere(t *testing.T) {
	const pages = 24
	rnd := rand.New(rand.NewPCG(1, 2))
	table := func() *Table {
		var ms []Mapping
		for at := mem.Addr(0); at < pages; {
			n := mem.Addr(1 + rnd.IntN(4))
			if rnd.IntN(3) > 0 {
				ms = append(ms, Mapping{Start: at, End: at + n, Perm: Perm(rnd.IntN(8)), Inode: rnd.Uint64N(3),
					Offset: int64(rnd.IntN(3))})
			}
			at += n
		}
		return NewTable(ms)
	}
	for range 2000 {
		before, after := table(), table()
		changed, other := ChangedCode(before, after), ChangedCode(table(), table())
		for at := mem.Addr(0); at < pages+5; at++ {
			x, y := before.Find(at), after.Find(at)
			runsX, runsY := x != nil && x.Perm&Exec != 0, y != nil && y.Perm&Exec != 0
			want := runsX != runsY || runsX &&
				(x.Inode != y.Inode || x.Inode != 0 && x.Offset+int64(at-x.Start) != y.Offset+int64(at-y.Start))
			if got := changed.Union(other).Contain(at); got != (want || other.Contain(at)) {
				t.Fatalf("address %d: got %v of %+v and %+v", at, got, changed, other)
			}
			if got := changed.Contain(at); got != want {
				t.Fatalf("address %d: got %v, want %v of\n%+v\n%+v\n%+v", at, got, want, before.All(), after.All(),
					changed)
			}
		}
	}
}
