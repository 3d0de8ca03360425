package jitdump

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fpstack/fpstack/jit/codelog"
	"github.com/fpstack/fpstack/mem"
)

const (
	magic        = 0x4a695444
	headerLength = 40
	recordLength = 16
	maxName      = 4 << 10 // of a function, with its NUL; longer ones are cut

	// The ids of records.
	codeLoad, codeMove, codeDebug, codeClose = 0, 1, 2, 3

	archTime = 1 // flag: times are those of the CPU
	// v8Mark is what V8 writes where others write 0. Addresses of its lines are too high by the size of the header of a
	// code object, which it had once: those of the function begin at 0.
	// Source: PerfJitLogger of v8/src/diagnostics/perf-jit.cc.
	v8Mark = 0xdeadbeef
	v8Head = 0x40
)

// parser is a codelog.Parser.
type parser struct {
	start time.Duration // of the process, by its CLOCK_MONOTONIC
	now   func(time.Time) time.Duration
	limit int64 // 0: maxRead

	order  binary.ByteOrder // nil before the header
	timed  bool             // times are by that clock
	judged bool             // timed is sure
	v8     bool
	debug  struct { // lines of the function that is loaded next
		addr   uint64
		detail int64
	}
	buf [recordLength + 40 + maxName]byte
}

// Read implements codelog.Parser.
func (p *parser) Read(r io.ReaderAt, from, to int64, b *codelog.Book) (int64, error) {
	limit := p.limit
	if limit == 0 {
		limit = maxRead
	}
	if to > limit {
		return from, errTooLarge
	}
	for from < to {
		n, err := r.ReadAt(p.buf[:min(int64(len(p.buf)), to-from)], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return from, err
		}
		size, err := p.one(p.buf[:n], from, to-from, b)
		if err != nil || size == 0 {
			return from, err
		}
		from += size
	}
	return from, nil
}

// one reads the header or the record that data begins with, of which so many bytes are in the file. Its size is 0 if it
// is not all there.
func (p *parser) one(data []byte, at, left int64, b *codelog.Book) (size int64, err error) {
	if len(data) >= 4 && (p.order == nil || p.order.Uint32(data) == magic) { // who appends writes another header
		return p.header(data, left)
	}
	if p.order == nil || len(data) < recordLength {
		return 0, nil
	}
	id, size := p.order.Uint32(data), int64(p.order.Uint32(data[4:]))
	if size < recordLength {
		return 0, fmt.Errorf("malformed at %#x: a record of %d bytes", at, size)
	}
	if size > left {
		return 0, nil
	}
	when := p.clock(p.order.Uint64(data[8:]))
	body := data[recordLength:min(int64(len(data)), size)]
	switch id {
	case codeLoad:
		p.load(body, when, b)
	case codeMove:
		p.move(body, when, b)
	case codeDebug:
		if len(body) >= 16 {
			p.debug.addr, p.debug.detail = p.order.Uint64(body), at
		}
	case codeClose: // others may append
	}
	return size, nil
}

// header reads the header of the file.
func (p *parser) header(data []byte, left int64) (size int64, err error) {
	if len(data) < headerLength {
		return 0, nil
	}
	switch {
	case binary.LittleEndian.Uint32(data) == magic:
		p.order = binary.LittleEndian
	case binary.BigEndian.Uint32(data) == magic:
		p.order = binary.BigEndian
	default:
		return 0, errors.New("is no jitdump")
	}
	version, length := p.order.Uint32(data[4:]), int64(p.order.Uint32(data[8:]))
	flags := p.order.Uint64(data[32:])
	switch {
	case version != 1:
		return 0, fmt.Errorf("has version %d, which is not known", version)
	case flags&^archTime != 0:
		return 0, fmt.Errorf("has flags %#x, which are not known", flags)
	case length < headerLength:
		return 0, fmt.Errorf("malformed: a header of %d bytes", length)
	case length > left:
		return 0, nil
	}
	p.v8 = p.order.Uint32(data[16:]) == v8Mark
	p.timed, p.judged = flags&archTime == 0, flags&archTime != 0
	return length, nil
}

// clock is the time of a record, 0 if it has none or one by another clock. The first record shows that: it was not
// made in the future.
func (p *parser) clock(raw uint64) time.Duration {
	const ahead = time.Second
	if !p.judged {
		p.judged = true
		p.timed = raw < 1<<63 && time.Duration(raw) <= p.now(time.Now())+ahead
	}
	if !p.timed || raw >= 1<<63 {
		return 0
	}
	return time.Duration(raw)
}

// slack is how much before its process a record may seem to be made: the process's start is known to a tick.
const slack = 20 * time.Millisecond

// load reads JIT_CODE_LOAD.
func (p *parser) load(body []byte, when time.Duration, b *codelog.Book) {
	const fixed = 40
	debug := p.debug
	p.debug.detail = 0
	if len(body) <= fixed {
		b.Malformed()
		return
	}
	if when != 0 && when < p.start-slack { // of an earlier process with this number
		b.Stale()
		return
	}
	start, size := p.order.Uint64(body[16:]), p.order.Uint64(body[24:])
	name, code, _ := bytes.Cut(body[fixed:], []byte{0})
	if start+size < start || len(name) == 0 {
		b.Malformed()
		return
	}
	r := codelog.Record{Start: mem.Addr(start), End: mem.Addr(start + size), Time: when, Name: name}
	if n := codelog.DigestLength(size); n <= len(code) {
		r.Code = codelog.Digest(code[:n])
	}
	if debug.detail != 0 && debug.addr == start {
		r.Detail = debug.detail
	}
	b.Add(r)
}

// move reads JIT_CODE_MOVE.
func (p *parser) move(body []byte, when time.Duration, b *codelog.Book) {
	const fixed = 48
	if len(body) < fixed {
		b.Malformed()
		return
	}
	if when != 0 && when < p.start-slack {
		b.Stale()
		return
	}
	word := func(at int) uint64 { return p.order.Uint64(body[at:]) }
	b.Move(mem.Addr(word(16)), mem.Addr(word(24)), word(32), when)
}
