package v8

import (
	"bytes"
	"errors"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// code is machine code that V8 has made, as it was found in memory.
type code struct {
	heap.Code
	stream   mem.Addr  // the object that holds the instructions; the Code itself up to V8 10
	of       *function // what baseline code was made of, nil before it was met with a frame
	print    []byte    // what the objects hold, to compare
	prologue int       // bytes before the frame is built, below 0 if that is not seen
}

func (c *code) holds(pc mem.Addr) bool { return pc >= c.Start && uint64(pc-c.Start) < uint64(c.Size) }

const (
	// maxCodes bounds the PCs of which the code is remembered.
	maxCodes = 1 << 14
	// scanBlock is how much is read at once in search of the beginning of code, bytes.
	scanBlock = 4 << 10
	// maxCode bounds the search, bytes: larger functions are not compiled.
	maxCode = 2 << 20
	// maxBuilt bounds the instructions before a frame is built, bytes.
	maxBuilt = 64
)

var errNoCode = errors.New("no code object is found around it")

// codeCache remembers which code holds a PC. What it says is checked each time: code is freed, and other code made in
// its place.
type codeCache struct {
	byPC map[mem.Addr]*code
	maps map[mem.Addr]keptMap // by Code
	size int                  // of maps, bytes
}

// keptMap is what was read of a code; err is why it was not.
type keptMap struct {
	code  heap.Code
	codes *heap.CodeMap
	err   error
}

// maxMaps bounds the bytes that are kept of maps of code.
const maxMaps = 64 << 20

func (c *codeCache) reset() { *c = codeCache{byPC: map[mem.Addr]*code{}, maps: map[mem.Addr]keptMap{}} }

// codeAt returns the code that holds pc, an address in memory that V8 has made code in.
func (r *Runtime) codeAt(a *area, pc mem.Addr, m mem.Reader) (*code, error) {
	if c := r.codes.byPC[pc]; c != nil {
		var now [2 * codePrint]byte
		if b, err := printOf(now[:0], c.stream, c.Addr, m); err != nil || bytes.Equal(b, c.print) {
			return c, nil // what cannot be read any more was true
		}
		delete(r.codes.byPC, pc)
	}
	if r.wasm.at(pc) != nil {
		return nil, errNoCode
	}
	c, err := r.findCode(a, pc, m)
	if err != nil {
		return nil, err
	}
	if len(r.codes.byPC) >= maxCodes {
		r.codes.reset()
	}
	r.codes.byPC[pc] = c
	return c, nil
}

// findCode looks backwards from pc for the object that holds the instructions: its first word is the map of such
// objects, and it says how far they reach.
func (r *Runtime) findCode(a *area, pc mem.Addr, m mem.Reader) (*code, error) {
	var block [scanBlock]byte
	low := a.start
	if pc-low > maxCode {
		low = pc - maxCode
	}
	for high := pc &^ (wordSize - 1); high > low; {
		from := max(low, (high-1)&^(scanBlock-1))
		b := block[:high-from]
		if _, err := m.ReadMem(b, from); err != nil {
			return nil, err
		}
		for at := len(b) - wordSize; at >= 0; at -= wordSize {
			w := order.Uint64(b[at:])
			if !isHeapPointer(w) || !r.isStreamMap(w, m) {
				continue
			}
			if c, err := r.readCode(from+mem.Addr(at), m); err == nil && c.holds(pc) {
				return c, nil
			}
		}
		high = from
	}
	return nil, errNoCode
}

// isHeapPointer reports whether w may be a tagged pointer to an object.
func isHeapPointer(w uint64) bool { return w&3 == 1 && w > 1<<12 && w < 1<<47 }

// isStreamMap reports whether w is the map of objects that hold instructions.
func (r *Runtime) isStreamMap(w uint64, m mem.Reader) bool {
	want := r.layout.Types.InstructionStream
	if r.layout.Code.Inline {
		want = r.layout.Types.Code
	}
	t, ok := r.types.of(r.layout, w, m)
	return ok && t == want
}

// readCode reads the code whose instructions the object at stream holds.
func (r *Runtime) readCode(stream mem.Addr, m mem.Reader) (*code, error) {
	head, err := r.heap(m).CodeOf(heap.TagOf(stream))
	if err != nil {
		return nil, err
	}
	c := &code{Code: head, stream: stream}
	if c.print, err = printOf(nil, stream, c.Addr, m); err != nil {
		return nil, err
	}
	if c.Start < stream || c.Start-stream > scanBlock {
		return nil, errNoCode
	}
	var b [maxBuilt]byte
	n, _ := m.ReadMem(b[:min(c.Size, maxBuilt)], c.Start)
	c.prologue = bytes.Index(b[:n], buildsFrame)
	if c.Kind == heap.Baseline {
		c.prologue = baselineEntry(b[:n])
	}
	return c, nil
}

// baselineEntry is how many bytes of baseline code run before a builtin builds its frame, the call of that included;
// below 0 if they are not as expected: a register is set to the BytecodeArray, and the builtin is called.
// Source: BaselineCompiler::Prologue in src/baseline/x64/baseline-compiler-x64-inl.h.
func baselineEntry(b []byte) int {
	const array, call = "\x49\xbc", 0xe8 // mov r12, imm64; call rel32
	i := bytes.Index(b, []byte(array))
	if next := i + len(array) + wordSize; i >= 0 && next < len(b) && b[next] == call {
		return next + 1
	}
	return -1
}

// codePrint is how many bytes of each of its objects tell one code from another: in a Code all up to the flags.
const codePrint = 64

// printOf appends to b what tells the code with those objects from another at the same place.
func printOf(b []byte, stream, object mem.Addr, m mem.Reader) ([]byte, error) {
	for _, at := range []struct {
		start mem.Addr
		size  int
	}{{stream, 2 * wordSize}, {object, codePrint}} {
		var buf [codePrint]byte
		if _, err := m.ReadMem(buf[:at.size], at.start); err != nil {
			return nil, err
		}
		b = append(b, buf[:at.size]...)
	}
	return b, nil
}

// heap reads objects by m.
func (r *Runtime) heap(m mem.Reader) heap.Heap { return heap.Heap{Layout: r.layout, Memory: m} }

// code is the memory that code is read from, which the walk reads by m: what was not copied of it is as it was, while
// some frame executes it.
func (r *Runtime) code(m mem.Reader) mem.Reader {
	if r.live != nil {
		return r.live
	}
	return m
}
