package codelog

import (
	"encoding/binary"
	"time"

	"github.com/fpstack/fpstack/vm/view"
)

const (
	// maxDigested is how much of a function's code, from its start, is looked at.
	maxDigested = 1 << 10
	// pieces are looked at, as far apart as they can be: functions of one compiler begin alike, and a few bytes of one
	// change while it lives (addresses of objects that a garbage collector moves, code that is switched off).
	pieces      = 8
	pieceLength = 8
	// trustFor is how long code that was compared is believed to be there.
	trustFor = 100 * time.Millisecond
)

// DigestLength is how many bytes Digest takes of a function of that many.
func DigestLength(size uint64) int { return int(min(size, maxDigested)) }

// Digest is a byte for each of eight pieces of code, which is [DigestLength] long. It is 0, that nothing is known, of
// code that is too short, or where the writer of a file left zeros in its place.
func Digest(code []byte) (d uint64) {
	if len(code) < pieces*pieceLength {
		return 0
	}
	zero := true
	for i := range pieces {
		word := binary.LittleEndian.Uint64(code[i*(len(code)-pieceLength)/(pieces-1):])
		zero = zero && word == 0
		d = d<<8 | word*0x9e3779b97f4a7c15>>56
	}
	if zero {
		return 0
	}
	return max(d, 1)
}

// areAlike reports whether at least half of the pieces are the same.
func areAlike(a, b uint64) bool {
	same := 0
	for i := range pieces {
		if byte(a>>(8*i)) == byte(b>>(8*i)) {
			same++
		}
	}
	return 2*same >= pieces
}

// numbered is a record of one of the files.
type numbered struct {
	file   int
	record uint64
}

// comparison is what was found of a record's code.
type comparison struct {
	at time.Time
	is verdict
}

// verdict is what code in memory says of a record.
type verdict uint8

const (
	alike    verdict = iota
	replaced         // other code is there
	unread           // it could not be read
)

// compare compares the code in memory with what the record says, which is the newest of its addresses: the runtime may
// have put other code there and not written so yet.
func (r *Runtime) compare(n numbered, record *Record, v *view.View) verdict {
	now := time.Now()
	known, ok := r.compared.Get(n)
	if ok && now.Sub(known.at) < trustFor {
		return known.is
	}
	known = comparison{at: now}
	switch code, ok := v.Bytes(record.Start, DigestLength(uint64(record.End-record.Start))); {
	case !ok:
		known.is = unread
	case !areAlike(Digest(code), record.Code):
		known.is = replaced
	}
	r.compared.Keep(n, known, comparisonSize)
	return known.is
}

// comparisonSize is about what a comparison takes with its key, bytes.
const comparisonSize = 64
