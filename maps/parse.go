package maps

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/fpstack/fpstack/mem"
)

// MaxMappings bounds what Parse accepts; the kernel's own default limit is 65,530
// (vm.max_map_count), raised by some databases to a few hundred thousand.
const MaxMappings = 4 << 20

// ParseError says which line could not be understood.
type ParseError struct {
	Line int // from 1
	Text string
	Err  error
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("parse maps line %d %q: %v", e.Line, e.Text, e.Err)
}

func (e *ParseError) Unwrap() error { return e.Err }

var errForm = errors.New("want \"start-end perm offset dev inode path\"")

// Parse reads the text of /proc/PID/maps. An empty text gives an empty Table: that is what
// the kernel shows of a zombie or a kernel thread.
func Parse(r io.Reader) (*Table, error) {
	var ms []Mapping
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 8<<10), 1<<20) // a path has at most 4096 bytes, each up to four when escaped
	sc.Split(splitLines)
	for n := 1; sc.Scan(); n++ {
		m, err := parseLine(sc.Bytes())
		if err != nil {
			return nil, &ParseError{Line: n, Text: sc.Text(), Err: err}
		}
		if len(ms) == MaxMappings {
			return nil, fmt.Errorf("parse maps: more than %d mappings", MaxMappings)
		}
		if n := len(ms); n > 0 && ms[n-1].Path == m.Path {
			m.Path = ms[n-1].Path // the mappings of one file share the string
		}
		ms = append(ms, m)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("parse maps: %w", err)
	}
	return NewTable(ms), nil
}

// splitLines is bufio.ScanLines that keeps a carriage return at the end: a path may have one.
func splitLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// parseLine reads one line:
//
//	7f3a1b200000-7f3a1b228000 r--p 00000000 fe:00 1311 /usr/lib/x86_64-linux-gnu/libc.so.6
func parseLine(b []byte) (m Mapping, err error) {
	f := fields{rest: b}
	start, ok1 := f.hex('-')
	end, ok2 := f.hex(' ')
	perm, ok7 := parsePerm(f.next(' '))
	off, ok3 := f.hex(' ')
	major, ok4 := f.hex(':')
	minor, ok5 := f.hex(' ')
	inode, ok6 := f.dec()
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !ok7 || off > 1<<63-1 {
		return m, errForm
	}
	m = Mapping{Start: mem.Addr(start), End: mem.Addr(end), Perm: perm,
		Offset: int64(off), Dev: major<<32 | minor, Inode: inode}
	path := bytes.TrimLeft(f.rest, " ")
	if m.Inode != 0 || bytes.HasPrefix(path, []byte("/")) {
		if p, ok := bytes.CutSuffix(path, []byte(" (deleted)")); ok {
			path, m.Deleted = p, true
		}
	}
	m.Path = unescape(path)
	return m, nil
}

func parsePerm(b []byte) (p Perm, ok bool) {
	const set, unset = "rwxs", "---p"
	if len(b) != len(set) {
		return 0, false
	}
	for i, c := range b {
		switch c {
		case set[i]:
			p |= 1 << i
		case unset[i]:
		default:
			return 0, false
		}
	}
	return p, true
}

// unescape undoes the only escape that the kernel writes here, \012 for a newline
// (seq_path with "\n").
func unescape(b []byte) string {
	return strings.ReplaceAll(string(b), `\012`, "\n")
}

// fields cuts a line without allocating.
type fields struct{ rest []byte }

func (f *fields) next(sep byte) []byte {
	i := bytes.IndexByte(f.rest, sep)
	if i < 0 {
		v := f.rest
		f.rest = nil
		return v
	}
	v := f.rest[:i]
	f.rest = f.rest[i+1:]
	return v
}

func (f *fields) hex(sep byte) (uint64, bool) {
	b := f.next(sep)
	if len(b) == 0 || len(b) > 16 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | uint64(c-'0')
		case 'a' <= c && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

func (f *fields) dec() (uint64, bool) {
	b := f.next(' ')
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		d := uint64(c - '0')
		if c < '0' || c > '9' || v > (math.MaxUint64-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	return v, true
}
