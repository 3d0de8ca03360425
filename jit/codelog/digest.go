package codelog

import (
	"encoding/binary"
	"time"

	"github.com/fpstack/fpstack/mem"
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

// alike reports whether at least half of the pieces are the same.
func alike(a, b uint64) bool {
	same := 0
	for i := range pieces {
		if byte(a>>(8*i)) == byte(b>>(8*i)) {
			same++
		}
	}
	return 2*same >= pieces
}

// comparison is what was found of a record's code.
type comparison struct {
	at      time.Time
	differs bool
}

// replaced reports whether other code is in the process's memory m now than the record number says, which is the newest
// of its addresses: the runtime has put it there and not written so yet. What cannot be read is not replaced.
func (r *Runtime) replaced(number uint64, record *Record, m mem.Reader) bool {
	now := time.Now()
	known, ok := r.compared[number]
	if ok && now.Sub(known.at) < trustFor {
		return known.differs
	}
	if len(r.compared) >= maxSites {
		clear(r.compared)
	}
	code := r.code[:DigestLength(uint64(record.End-record.Start))]
	n, err := m.ReadMem(code, record.Start)
	known = comparison{at: now, differs: err == nil && n == len(code) && !alike(Digest(code), record.Code)}
	r.compared[number] = known
	return known.differs
}
