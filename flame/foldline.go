package flame

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// foldedLine is what a line of folded text says.
type foldedLine struct {
	value int64
	micro int32  // millionths on top of value
	keep  uint32 // outer frames that it shares with the line before
	add   uint32 // how many of the block's frames follow these
	at    uint32 // where it begins in the block
	// digits is how many places of micro are used, 0 to 6.
	digits uint8
	bad    bool // not understood
}

// foldedFrame is a frame of a line and, by its hash, the stack down to it.
type foldedFrame struct {
	hash       stackHash
	start, end uint32 // of its name in the block
}

// foldedBlock is a piece of input that begins and ends with a line, and what was found in it.
type foldedBlock struct {
	data   []byte
	lines  []foldedLine
	frames []foldedFrame
	blank  int // empty lines
	done   chan struct{}
}

// foldedWorker takes blocks apart.
type foldedWorker struct {
	hasher   stackHasher
	previous []byte      // stack of the line before
	ends     []int       // behind each of its frames
	hashes   []stackHash // of each of its frames
}

// parse fills b from b.data.
func (w *foldedWorker) parse(b *foldedBlock) {
	b.lines, b.frames, b.blank = b.lines[:0], slices.Grow(b.frames[:0], len(b.data)/32), 0
	w.previous, w.ends, w.hashes = nil, w.ends[:0], w.hashes[:0]
	for at := 0; at < len(b.data); {
		end := len(b.data)
		if i := bytes.IndexByte(b.data[at:], '\n'); i >= 0 {
			end = at + i
		}
		from, to := trimSpace(b.data, at, end)
		if from == to {
			b.blank++
		} else if l, ok := w.line(b, from, to); ok {
			b.lines = append(b.lines, l)
		} else {
			b.lines = append(b.lines, foldedLine{bad: true, at: uint32(at)})
		}
		at = end + 1
	}
}

// line takes apart what is in b.data between two positions. It is not ok if that is not
// understood.
func (w *foldedWorker) line(b *foldedBlock, from, to int) (l foldedLine, ok bool) {
	stack, c, ok := cutCount(b.data[from:to])
	stack = bytes.TrimRight(stack, ";")
	if !ok || len(stack) == 0 || len(stack) > maxFoldedDepth && bytes.Count(stack, []byte{';'}) >= maxFoldedDepth {
		return l, false
	}
	l = foldedLine{value: c.value, micro: c.micro, digits: c.digits, at: uint32(from)}
	w.share(stack)
	l.keep = uint32(len(w.ends))
	w.split(b, stack, from)
	l.add = uint32(len(w.ends)) - l.keep
	return l, true
}

// share keeps the outer frames that stack has in common with the line before, and forgets
// the others of that.
func (w *foldedWorker) share(stack []byte) {
	same := commonPrefix(w.previous, stack)
	keep := len(w.ends)
	for ; keep > 0; keep-- {
		end := w.ends[keep-1]
		if end < same || end == same && (end == len(stack) || stack[end] == ';') {
			break
		}
	}
	w.previous, w.ends, w.hashes = stack, w.ends[:keep], w.hashes[:keep]
}

// split adds the frames of stack, which begins at from in b, behind those that are shared.
func (w *foldedWorker) split(b *foldedBlock, stack []byte, from int) {
	at, hash := 0, stackHash{}
	if n := len(w.ends); n > 0 {
		at, hash = w.ends[n-1]+1, w.hashes[n-1]
	}
	for at <= len(stack) {
		end := len(stack)
		if i := bytes.IndexByte(stack[at:], ';'); i >= 0 {
			end = at + i
		}
		hash = w.hasher.call(hash, stack[at:end])
		b.frames = append(b.frames, foldedFrame{hash, uint32(from + at), uint32(from + end)})
		w.ends, w.hashes = append(w.ends, end), append(w.hashes, hash)
		at = end + 1
	}
}

// commonPrefix counts the bytes with which a and b begin alike.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

// count is a number at the end of a line.
type count struct {
	value  int64
	micro  int32
	digits uint8
}

// cutCount parts text into what is before its last white space and the number behind that:
// digits, and maybe a point and more. It is not ok if there is none, or one beyond 63 bits.
// Source: flamegraph.pl, ^(.*)\s+?(\d+(\.\d*)?)$.
func cutCount(text []byte) (before []byte, c count, ok bool) {
	at := len(text)
	for at > 0 && isDigit(text[at-1]) {
		at--
	}
	whole := text[at:]
	if at > 0 && text[at-1] == '.' {
		fraction := whole
		end := at - 1
		for at = end; at > 0 && isDigit(text[at-1]); {
			at--
		}
		whole = text[at:end]
		c.micro, c.digits = millionths(fraction)
	}
	if len(whole) == 0 || at == 0 || !isSpace(text[at-1]) {
		return nil, count{}, false
	}
	for _, d := range whole {
		d -= '0'
		if c.value > (math.MaxInt64-int64(d))/10 {
			return nil, count{}, false
		}
		c.value = c.value*10 + int64(d)
	}
	if c.micro == million { // the fraction was rounded up
		c.micro = 0
		if c.value == math.MaxInt64 {
			return nil, count{}, false
		}
		c.value++
	}
	for at > 0 && isSpace(text[at-1]) {
		at--
	}
	return text[:at], c, true
}

const million = 1_000_000

// millionths returns the decimals of a fraction, rounded to six places, and how many of
// those are used.
func millionths(decimals []byte) (micro int32, digits uint8) {
	for i := range 6 {
		micro *= 10
		if i < len(decimals) {
			micro += int32(decimals[i] - '0')
		}
	}
	if len(decimals) > 6 && decimals[6] >= '5' {
		micro++
	}
	digits = 6
	for m := micro; digits > 0 && m%10 == 0; m /= 10 {
		digits--
	}
	return micro, digits
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isSpace(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }

// trimSpace returns where the text between two positions of b begins and ends without the white
// space around it.
func trimSpace(b []byte, from, to int) (int, int) {
	for from < to && isSpace(b[from]) {
		from++
	}
	for from < to && isSpace(b[to-1]) {
		to--
	}
	return from, to
}
