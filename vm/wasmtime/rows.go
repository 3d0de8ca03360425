package wasmtime

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
)

var (
	errGone       = errors.New("its module was dropped")
	errNoFunction = errors.New("no function of its module is there")
)

// maxCode bounds the bytes of a function that are read to find a row.
const maxCode = 64 << 10

// Row implements [unwind.RowSource]. Tables of the image describe the beginning of a function and not its end, where
// the frame is gone already: where a thread was interrupted the instructions tell more.
func (r *Runtime) Row(g unwind.Region, pc mem.Addr, interrupted bool) (*cfi.Row, bool, error) {
	im := r.known.Load().find(pc)
	if im == nil || im.text != g {
		return nil, false, errGone
	}
	f := im.functionAt(pc)
	if f == nil {
		return nil, false, errNoFunction
	}
	if interrupted && im.byCode != nil {
		if row, ok, err := r.rowByCode(im, f, pc); ok || err != nil {
			return row, ok, err
		}
	}
	if im.frames != nil {
		if row, err := im.frames.Row(uint64(pc)); err == nil {
			return row, true, nil
		}
	}
	if im.framed == nil {
		return nil, false, nil
	}
	return at(im.framed, pc), true, nil
}

// rowByCode is the row by the instructions of the function up to pc. An error says that the code cannot be read: other
// rows are not true at each of its instructions.
func (r *Runtime) rowByCode(im *image, f *function, pc mem.Addr) (row *cfi.Row, ok bool, err error) {
	start := im.text.Start + mem.Addr(f.start)
	v := r.live()
	b, ok := im.code(v, f, maxCode)
	if !ok {
		return nil, false, fmt.Errorf("its code cannot be read: %w", v.Fault())
	}
	if int(pc-start) >= len(b) {
		return nil, false, nil
	}
	row, ok = im.byCode(b, start, pc, r.budget)
	return row, ok, nil
}
