// Package perfmap reads perf maps: the text files /tmp/perf-PID.map in which runtimes name the code that they make, a
// line for each piece: where it begins and how long it is, in hexadecimal, and its name. Later lines cover earlier
// ones; nothing says when code was made or dropped.
//
// It is a form of jit/codelog, which opens and follows the file. The bytes are hostile: a line that is not understood
// is counted and left out.
//
// Source: linux/tools/perf/Documentation/jit-interface.txt.
package perfmap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/fpstack/fpstack/jit/codelog"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// Format is the form of perf maps.
type Format struct{}

func (Format) String() string { return "perf map" }

// Locate implements codelog.Format. The number in the name is the one that the process has for itself.
func (Format) Locate(p *module.Live, _ *maps.Table) (path string, open func() (module.Log, error)) {
	path = Path(p.PID)
	return path, func() (module.Log, error) { return p.Log(path) }
}

// Path is where the perf map of the process with that number is looked for.
func Path(pid int) string { return fmt.Sprintf("/tmp/perf-%d.map", pid) }

// Parser implements codelog.Format.
func (Format) Parser(*module.Live) codelog.Parser { return &parser{} }

const (
	// chunk is how much is read at once; a longer line is left out.
	chunk = 256 << 10
	// maxRead is how much of what is new is read: of a larger file the last part, whose lines cover those before.
	maxRead = 64 << 20
)

// parser is a codelog.Parser.
type parser struct {
	limit  int64 // 0: maxRead
	inLine bool  // what comes first is the rest of a line that is left out
	buf    []byte
}

// Read implements codelog.Parser.
func (p *parser) Read(r io.ReaderAt, from, to int64, b *codelog.Book) (int64, error) {
	limit := p.limit
	if limit == 0 {
		limit = maxRead
	}
	if skip := to - from - limit; skip > 0 {
		b.Skipped(skip)
		from, p.inLine = from+skip, true
	}
	if p.buf == nil {
		p.buf = make([]byte, chunk)
	}
	for from < to {
		n, err := r.ReadAt(p.buf[:min(chunk, to-from)], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return from, err
		}
		used := p.lines(p.buf[:n], b)
		if used == 0 && n == chunk { // no line ends here
			if !p.inLine {
				b.Malformed()
			}
			used, p.inLine = n, true
		}
		from += int64(used)
		if used == 0 || n == 0 {
			break // it is being written, or was cut
		}
	}
	return from, nil
}

// lines reads the lines of data that end, and returns their length.
func (p *parser) lines(data []byte, b *codelog.Book) (used int) {
	for {
		end := bytes.IndexByte(data[used:], '\n')
		if end < 0 {
			return used
		}
		line := data[used : used+end]
		used += end + 1
		if p.inLine {
			p.inLine = false
			continue
		}
		if r, ok := parse(line); ok {
			b.Add(r)
		} else if len(bytes.TrimSpace(line)) > 0 {
			b.Malformed()
		}
	}
}

// parse reads one line.
func parse(line []byte) (r codelog.Record, ok bool) {
	start, rest, ok1 := bytes.Cut(line, []byte(" "))
	size, name, ok2 := bytes.Cut(rest, []byte(" "))
	a, ok3 := hex(start)
	n, ok4 := hex(size)
	name = bytes.TrimRight(name, "\r")
	if !ok1 || !ok2 || !ok3 || !ok4 || len(name) == 0 || a+n < a {
		return r, false
	}
	return codelog.Record{Start: mem.Addr(a), End: mem.Addr(a + n), Name: name}, true
}

// hex reads a number, with or without 0x before it.
func hex(b []byte) (uint64, bool) {
	b = bytes.TrimPrefix(b, []byte("0x"))
	if len(b) > 16 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b), 16, 64)
	return v, err == nil && b[0] != '+'
}
