package wasmtime

import (
	"debug/elf"
	"errors"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/symbol/dwarf"
	"github.com/fpstack/fpstack/vm/view"
)

// lines is the DWARF that wasmtime translated, which an image has where the host asked for it (Config::debug_info). It
// is relocatable: addresses are those of functions in the process once the relocations are applied.
type lines struct {
	data *dwarf.Data
	// load makes data, at first use.
	load func(v *view.View) *dwarf.Data
}

// newLines returns the DWARF of im, nil if it has none.
func newLines(im *image) *lines {
	if im.sections[".debug_info"].size == 0 {
		return nil
	}
	return &lines{load: func(v *view.View) *dwarf.Data {
		return dwarf.New(dwarf.Object{Low: uint64(im.text.Start), High: uint64(im.text.End), Budget: im.budget,
			Section: func(name string) ([]byte, error) {
				b, err := im.bytes(v, im.sections[name])
				if err != nil || len(b) == 0 {
					return nil, err
				}
				relocations, err := im.bytes(v, im.sections[".rela"+name])
				if err != nil {
					return nil, err
				}
				if !im.unchanged(v) {
					return nil, errGone
				}
				return b, im.relocate(b, relocations)
			}})
	}}
}

var errRelocation = errors.New("a relocation is not known")

// relocate applies relocations (Elf64_Rela) to a section.
func (im *image) relocate(b, relocations []byte) error {
	const size = 24
	for ; len(relocations) >= size; relocations = relocations[size:] {
		at, info, addend := order.Uint64(relocations), order.Uint64(relocations[8:]), order.Uint64(relocations[16:])
		number := info >> 32 * symbolSize
		width := im.relocations[uint32(info)]
		if width == 0 || at > uint64(len(b)) || uint64(width) > uint64(len(b))-at ||
			number+symbolSize > uint64(len(im.symbols)) {
			return errRelocation
		}
		s := im.symbols[number:]
		value := order.Uint64(s[8:]) + addend
		if elf.SymType(s[4]&0xf) == elf.STT_FUNC {
			value += uint64(im.text.Start)
		}
		if width == 8 {
			order.PutUint64(b[at:], value)
		} else {
			order.PutUint32(b[at:], uint32(value))
		}
	}
	return nil
}

// withLines returns own, the frame at pc, with its source line, and the frames of what was inlined there before it.
func (im *image) withLines(v *view.View, pc mem.Addr, own profile.Frame) []profile.Frame {
	if im.lines == nil || own.Kind != profile.Wasm {
		return []profile.Frame{own}
	}
	if im.lines.data == nil {
		im.lines.data = im.lines.load(v)
	}
	all, _ := im.lines.data.Calls([]uint64{uint64(pc)})
	calls := all[0]
	var out []profile.Frame
	for i := range calls {
		c := &calls[i]
		f := profile.Frame{Kind: profile.Wasm, Inlined: true, Func: c.Name}
		if c.Linkage != "" {
			f.Func, f.Linkage = symbol.Demangle(c.Linkage), c.Linkage
		}
		if i == len(calls)-1 {
			f = own
		}
		if c.File != "" && c.Line > 0 {
			f.File, f.Line = c.File, c.Line
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		out = append(out, own)
	}
	return out
}
