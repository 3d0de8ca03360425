package unwind_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

// madeBase is a page of code that no object holds.
const madeBase = 0x20000

// An interpreter pushes the address of its next entry and jumps, as HotSpot's templates do: no call precedes
// it. Its frame records are believed if they lead back to where somebody called it.
func TestInterpretedFrames(t *testing.T) {
	anonymous := maps.Mapping{Start: madeBase, End: madeBase + 0x1000, Perm: maps.Read | maps.Write | maps.Exec}
	memfd := anonymous
	memfd.Inode, memfd.Path, memfd.Deleted = 2, "/memfd:vmem", true
	broken := memfd
	broken.Path, broken.Deleted = "/usr/lib/broken.so", false
	const unsure = "no call before the return address"
	for _, tc := range []struct {
		name string
		made maps.Mapping
		draw func(s *memory.Image)
		want string // a frame that is not sure has a ?
		why  string
	}{
		{"three, then the call that entered them", anonymous, func(s *memory.Image) {
			s.Skip(1).Label("fp").Ref("a").Word(0x20200).Skip(3).Label("a").Ref("b").Word(0x20200).Label("b").Ref(
				"c").Word(0x20300).
				Skip(2).Label("c").Word(1).Word(0x10108)
		}, "0x20100 0x20200? 0x20200? 0x20300? 0x10108 root", ""},
		{"of a memfd", memfd, func(s *memory.Image) {
			s.Label("fp").Ref("a").Word(0x20200).Label("a").Word(1).Word(0x10108)
		}, "0x20100 0x20200? 0x10108 root", ""},
		{"of a file that cannot be read", broken, func(s *memory.Image) {
			s.Label("fp").Ref("a").Word(0x20200).Label("a").Word(1).Word(0x10108)
		}, "0x20100 no rule", "no call precedes"},
		{"one with a call between them", anonymous, func(s *memory.Image) {
			s.Label("fp").Ref("a").Word(0x20200).Label("a").Ref("b").Word(0x20408).Label("b").Ref("c").Word(
				0x20300).Label("c").Word(1).Word(0x10108)
		}, "0x20100 0x20200? 0x20408 0x20300? 0x10108 root", ""},
		{"two thousand of them", anonymous, func(s *memory.Image) {
			s.Label("fp")
			for i := range mem.Addr(2000) {
				s.Word(uint64(s.Addr("fp") + 16*(i+1))).Word(0x20200)
			}
			s.Word(1).Word(0x10108)
		}, "0x20100 " + strings.Repeat("0x20200? ", 2000) + "0x10108 root", ""},
		{"a return address into data", anonymous, func(s *memory.Image) {
			s.Label("fp").Ref("a").Word(0x20200).Label("a").Word(1).Word(stackBase)
		}, "0x20100 no rule", "no call precedes"},
		{"into a file without a call", anonymous, func(s *memory.Image) {
			s.Label("fp").Ref("a").Word(0x20200).Label("a").Word(1).Word(0x10100)
		}, "0x20100 no rule", "no call precedes"},
		{"that are the outermost", anonymous, func(s *memory.Image) {
			s.Label("fp").Ref("a").Word(0x20200).Label("a").Word(0).Word(0)
		}, "0x20100 no rule", "no call precedes"},
		{"in a circle", anonymous, func(s *memory.Image) {
			s.Label("fp").Ref("a").Word(0x20200).Label("a").Ref("fp").Word(0x20200)
		}, "0x20100 no rule", "no call precedes"},
		{"that point to themselves", anonymous, func(s *memory.Image) {
			s.Label("fp").Ref("fp").Word(0x20200)
		}, "0x20100 no rule", "no call precedes"},
		{"of another stack", anonymous, func(s *memory.Image) {
			s.Label("fp").Word(stackEnd + 0x1000).Word(0x20200)
		}, "0x20100 no rule", "no call precedes"},
		{"misaligned", anonymous, func(s *memory.Image) {
			s.Label("fp").Word(stackBase + 0x1ffd).Word(0x20200)
		}, "0x20100 no rule", "no call precedes"},
		{"whose memory is not there", anonymous, func(s *memory.Image) {
			s.Label("fp").Word(stackEnd - 0x100).Word(0x20200)
		}, "0x20100 no rule", "no call precedes"},
	} {
		for _, mode := range []unwind.Mode{unwind.Auto, unwind.FramePointersOnly} {
			t.Run(tc.name, func(t *testing.T) {
				d, cie := newTabled(regs.AMD64)
				d.call(0x108)
				d.outermost(cie, 0x10100)
				made := bytes.Repeat([]byte{0xcc}, 0x1000) // int3: says nothing
				copy(made[0x403:], []byte{0xe8, 0, 0, 0, 0})
				tc.draw(d.stack)
				table := maps.NewTable([]maps.Mapping{
					{Start: codeBase, End: codeEnd, Perm: maps.Read | maps.Exec, Inode: 1, Offset: objectCode,
						Path: "/drawn"}, tc.made,
					{Start: stackBase, End: stackEnd, Perm: maps.Read | maps.Write, Path: "[stack]"},
				})
				open := func(m *maps.Mapping) (*module.File, error) {
					if m.Inode != 1 {
						return &module.File{Data: made, Path: m.Path}, nil
					}
					return d.open(m)
				}
				memory := mem.NewOverlay(nil, mem.Range{Start: codeBase, Data: d.code},
					mem.Range{Start: madeBase, Data: made}, d.stack.Range())
				r := regs.New(d.arch)
				r.Set(d.arch.PC, madeBase+0x100)
				r.Set(d.arch.SP, stackBase+0x1000)
				r.Set(d.arch.FP, uint64(d.stack.Addr("fp")))
				w := unwind.NewWalker(module.NewSet(table, module.Image{Mapping: open, Memory: memory}), nil)
				th := &snapshot.Thread{TID: 1, Registers: &r, Stack: d.stack.Range()}
				want := tc.want
				if mode == unwind.FramePointersOnly { // it knows no root by a table
					want = strings.Replace(want, "root", "bad CFA", 1)
				}
				for i := range 3 {
					s := w.Walk(th, memory, unwind.Options{Mode: mode})
					var got []string
					for _, f := range s.Frames {
						mark := map[string]string{"": "", unsure: "?"}[f.Note]
						got = append(got, fmt.Sprintf("%#x%s", uint64(f.PC), mark))
					}
					got = append(got, s.Stop.String())
					if strings.Join(got, " ") != want {
						t.Errorf("walk %d, mode %d:\ngot  %s (%v)\nwant %s", i, mode, strings.Join(got, " "), s.Err,
							want)
					}
					if mode == unwind.Auto && tc.why != "" &&
						(s.Err == nil || !strings.Contains(s.Err.Error(), tc.why)) {
						t.Errorf("walk %d: got reason %v, want %q in it", i, s.Err, tc.why)
					}
				}
			})
		}
	}
}
