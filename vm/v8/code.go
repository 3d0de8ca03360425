package v8

import (
	"errors"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// code is machine code that V8 has made, as it was found in memory.
type code struct {
	heap.Code
	stream   mem.Addr // the object that holds the instructions; the Code itself up to V8 10
	print    print
	found    time.Time
	of       *function     // what baseline code was made of, nil before that was proved
	prologue int           // bytes before the frame is built, below 0 if that is not seen
	saving   *saving       // nil of code that saves a frame record alone
	codes    *heap.CodeMap // nil before it is asked for
	err      error         // why there is none
}

func (c *code) holds(pc mem.Addr) bool { return pc >= c.Start && uint64(pc-c.Start) < uint64(c.Size) }

const (
	// maxCodes bounds what is remembered of code, bytes, its maps among it.
	maxCodes = 64 << 20
	codeCost = 512 // of one code without its map
	// scanBlock is how much is read at once in search of the beginning of code, bytes.
	scanBlock = 4 << 10
	// maxCode bounds the search, bytes: larger functions are not compiled.
	maxCode = 2 << 20
	// maxBuilt bounds the instructions before a frame is built, bytes.
	maxBuilt = 64
)

var errNoCode = errors.New("no code object is found around it")

// codeCache remembers which code holds a PC, and the code that begins with an object. What it says is checked each
// time: code is freed, and other code made in its place.
type codeCache struct {
	byPC     sites.Recent[mem.Addr, *code]
	byStream sites.Recent[mem.Addr, *code]
}

func newCodeCache(b *work.Budget) codeCache {
	return codeCache{sites.NewRecent[mem.Addr, *code](b, maxCodes/8), sites.NewRecent[mem.Addr, *code](b, maxCodes)}
}

// codeAt returns the code that holds pc, an address in memory that V8 has made code in.
func (r *Runtime) codeAt(a *area, pc mem.Addr, v *view.View) (*code, error) {
	if c, ok := r.codes.byPC.Get(pc); ok {
		switch now, err := printOf(c.stream, c.Addr, v); {
		case err != nil:
			return nil, err
		case now == c.print:
			return c, nil
		}
	}
	if r.wasm.At(pc) != nil {
		return nil, errNoCode
	}
	c, err := r.findCode(a, pc, v)
	if err != nil {
		return nil, err
	}
	if known, ok := r.codes.byStream.Get(c.stream); ok && known.print == c.print {
		c = known
	} else {
		r.codes.byStream.Keep(c.stream, c, codeCost)
	}
	r.codes.byPC.Keep(pc, c, 0)
	return c, nil
}

// findCode looks backwards from pc for the object that holds the instructions: its first word is the map of such
// objects, and it says how far they reach.
func (r *Runtime) findCode(a *area, pc mem.Addr, v *view.View) (*code, error) {
	var block [scanBlock]byte
	low := a.start
	if pc-low > maxCode {
		low = pc - maxCode
	}
	for high := pc &^ (wordSize - 1); high > low; {
		from := max(low, (high-1)&^(scanBlock-1))
		b := block[:high-from]
		if _, err := v.ReadMem(b, from); err != nil {
			return nil, err
		}
		for at := len(b) - wordSize; at >= 0; at -= wordSize {
			w := order.Uint64(b[at:])
			if !heap.MayRefer(w) || !r.isStreamMap(w, v) {
				continue
			}
			if c, err := r.readCode(from+mem.Addr(at), v); err == nil && c.holds(pc) {
				return c, nil
			}
		}
		high = from
	}
	return nil, errNoCode
}

// isStreamMap reports whether w is the map of objects that hold instructions.
func (r *Runtime) isStreamMap(w uint64, v *view.View) bool {
	want := r.layout.Types.InstructionStream
	if r.layout.Code.Inline {
		want = r.layout.Types.Code
	}
	t, ok := r.types.of(r.layout, w, v)
	return ok && t == want
}

// readCode reads the code whose instructions the object at stream holds.
func (r *Runtime) readCode(stream mem.Addr, v *view.View) (*code, error) {
	head, err := r.heap(v).CodeOf(heap.TagOf(stream))
	if err != nil {
		return nil, err
	}
	c := &code{Code: head, stream: stream, found: time.Now()}
	if c.print, err = printOf(stream, c.Addr, v); err != nil {
		return nil, err
	}
	if c.Start < stream || c.Start-stream > scanBlock {
		return nil, errNoCode
	}
	built := maxBuilt
	if c.Kind == heap.Interpreted {
		built = maxPrologue // a copy of the interpreter's entry
	}
	b := v.UpTo(c.Start, min(c.Size, built))
	c.prologue = r.port.prologue(b)
	if c.Kind == heap.Baseline {
		c.prologue = r.port.baseline(b)
	}
	if r.port.saving != nil {
		c.saving = r.port.saving(c.Start, c.Size, v)
	}
	return c, nil
}

// print is what tells a code from another at the same place: the head of the object that holds the instructions, and
// of the Code all up to the flags.
type print struct {
	stream [2 * wordSize]byte
	code   [64]byte
}

// printOf is that of the code with those objects.
func printOf(stream, object mem.Addr, v *view.View) (p print, err error) {
	if _, err = v.ReadMem(p.stream[:], stream); err == nil {
		_, err = v.ReadMem(p.code[:], object)
	}
	return p, err
}

// heap reads objects by v.
func (r *Runtime) heap(v *view.View) heap.Heap { return heap.Heap{Layout: r.layout, View: v} }
