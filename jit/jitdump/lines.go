package jitdump

import (
	"bytes"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fpstack/fpstack/jit/codelog"
	"github.com/fpstack/fpstack/jit/codename"
	"github.com/fpstack/fpstack/mem"
)

const (
	maxLines    = 1 << 20 // bytes that are read of one record of lines
	entryLength = 16      // of one line, without the name of its file
	sameFile    = "\xff"  // the name of the entry before
)

// entry is one line of JIT_CODE_DEBUG_INFO: the code from addr on is of it.
type entry struct {
	addr uint64
	line uint32
	file string
}

// Line implements codelog.LineReader: the entry with the highest address that is not above a.
func (p *parser) Line(r io.ReaderAt, of *codelog.Record, a mem.Addr) (file string, line int, ok bool) {
	head := make([]byte, recordLength+16)
	if n, _ := r.ReadAt(head, of.Detail); n < len(head) || p.order == nil {
		return "", 0, false
	}
	size := min(int64(p.order.Uint32(head[4:]))-int64(len(head)), maxLines)
	if size <= 0 {
		return "", 0, false
	}
	body := make([]byte, size)
	n, _ := r.ReadAt(body, of.Detail+int64(len(head)))
	next := p.entries(body[:n])
	if p.v8 {
		name := codename.Parse(string(of.Name)).File
		if fixed, ok := p.fixedEntries(body[:n], p.order.Uint64(head[24:]), name); ok {
			next = fixed
		}
	}
	var best entry
	for e := range next {
		if p.v8 {
			e.addr -= v8Head
		}
		if e.addr >= uint64(of.Start) && e.addr <= uint64(a) && e.addr >= best.addr && e.line > 0 && e.line < 1<<31 {
			best = e
		}
	}
	return best.file, int(best.line), best.line > 0 && isText(best.file)
}

// entries runs over the lines of body, which may have padding at its end.
func (p *parser) entries(body []byte) func(func(entry) bool) {
	return func(yield func(entry) bool) {
		last := ""
		for len(body) > entryLength {
			end := bytes.IndexByte(body[entryLength:], 0)
			if end < 0 {
				return
			}
			if name := string(body[entryLength : entryLength+end]); name != sameFile {
				last = name
			}
			if !yield(p.entry(body, last)) {
				return
			}
			body = body[entryLength+end+1:]
		}
	}
}

func (p *parser) entry(b []byte, file string) entry {
	return entry{p.order.Uint64(b), p.order.Uint32(b[8:]), file}
}

// fixedEntries runs over count lines that are all of the same file. V8 writes names of files out of memory that it has
// freed, so that there may be anything in their place (seen in node 22): their length alone is right. It is false
// if the lines are of several files.
func (p *parser) fixedEntries(body []byte, count uint64, file string) (func(func(entry) bool), bool) {
	const padding = 8
	each := entryLength + uint64(len(file)) + 1
	if file == "" || count > maxLines || uint64(len(body)) < count*each || uint64(len(body)) >= count*each+padding {
		return nil, false
	}
	return func(yield func(entry) bool) {
		for i := range count {
			if !yield(p.entry(body[i*each:], file)) {
				return
			}
		}
	}, true
}

// isText reports whether name may be that of a file.
func isText(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, unicode.IsControl)
}
