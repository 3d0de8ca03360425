package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// limits bound one document.
type limits struct {
	size    int64 // bytes
	element int64 // bytes of one frame, module or list of words
	threads int
	frames  int
	modules int
}

// usual allows the frames of 2000 threads at the default of 1024 for each.
var usual = limits{size: 1 << 30, element: 64 << 20, threads: 1 << 19, frames: 1 << 21, modules: 1 << 16}

const (
	maxReadError   = 500 // bytes of an error's text
	maxReadMembers = 64  // names kept of an object whose members come one by one
)

// Reader reads back what [JSON] wrote, document after document.
type Reader struct {
	limits limits
	source *bounded
	d      *json.Decoder
	err    error // what ended the stream
}

// NewReader returns a Reader of the documents in r.
func NewReader(r io.Reader) *Reader { return newReader(r, usual) }

func newReader(r io.Reader, l limits) *Reader {
	source := &bounded{r: r, limits: l}
	d := json.NewDecoder(source)
	source.used = d.InputOffset
	return &Reader{limits: l, source: source, d: d}
}

// Read returns the next document, io.EOF behind the last one. Members that it does not know are
// left out, so that later documents of the same schema can be read. What JSON does not hold
// (Start, End and Offset of modules) is zero.
//
// It fails if the stream does, if a document is cut short, of another schema or inconsistent, and
// if it has more than a GiB, 2^21 frames, 2^19 threads or 2^16 modules. No further document can be
// read then. Memory stays within a small multiple of the document's size.
func (r *Reader) Read() (*profile.Dump, error) {
	if r.err != nil {
		return nil, r.err
	}
	start := r.d.InputOffset()
	r.source.limit = start + r.limits.size
	if !r.d.More() { // also where a bracket stands that closes nothing
		if _, err := r.d.Token(); err == io.EOF {
			r.err = io.EOF
			return nil, r.err
		}
	}
	in := &dumpReader{d: r.d, limits: r.limits, words: map[string]string{}, known: map[int]int{}}
	err := in.document()
	if err == nil {
		err = in.connect()
	}
	if err == nil {
		return &in.dump, nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the document is cut short")
	}
	if text := err.Error(); len(text) > maxReadError { // what a decoder quotes may be as long as the document
		err = errors.New(strings.ToValidUTF8(text[:maxReadError], "") + "…")
	}
	r.err = fmt.Errorf("read %s: at byte %d: %w", Schema, r.d.InputOffset(), err)
	return nil, r.err
}

// bounded fails where a document or an element of it is too long, instead of letting the decoder
// keep all of it.
type bounded struct {
	r      io.Reader
	limits limits
	got    int64
	limit  int64        // offset that the document must not pass
	used   func() int64 // offset up to which the decoder has understood
}

func (b *bounded) Read(buf []byte) (int, error) {
	switch {
	case b.got-b.used() > b.limits.element:
		return 0, fmt.Errorf("an element of more than %d bytes", b.limits.element)
	case b.used() > b.limit:
		return 0, fmt.Errorf("a document of more than %d bytes", b.limits.size)
	}
	// The decoder looks at all blanks again whenever something comes: it gets as much as it asks
	// for, which is each time twice as much.
	n, err := io.ReadFull(b.r, buf)
	if err == io.ErrUnexpectedEOF {
		err = nil // comes again as io.EOF
	}
	b.got += int64(n)
	return n, err
}
