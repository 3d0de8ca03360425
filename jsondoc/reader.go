// Package jsondoc reads and writes the JSON of our own documents: dumps and profiles.
//
// A document comes from anywhere and may be made to harm. A [Reader] hands it out piece by
// piece, so that a document is never in memory twice, and bounds what it keeps; what a
// document may hold is the caller's matter.
//
// The parts of encoding/json that panic on no input are all it needs.
package jsondoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits bound one document.
type Limits struct {
	Size    int64 // bytes
	Element int64 // bytes of what is decoded at once: a number, a name, one value of Decode
}

const (
	maxError   = 500 // bytes of an error's text
	maxMembers = 64  // names kept of one object
)

// Reader reads a stream of documents, one behind the other.
type Reader struct {
	d      *json.Decoder
	source *bounded
}

// NewReader returns a Reader of the documents in r.
func NewReader(r io.Reader, l Limits) *Reader {
	source := &bounded{r: r, limits: l}
	d := json.NewDecoder(source)
	source.used = d.InputOffset
	return &Reader{d: d, source: source}
}

// Next goes to the next document. It fails with io.EOF behind the last one; what is
// no document is found when it is read.
func (r *Reader) Next() error {
	r.source.limit = r.d.InputOffset() + r.source.limits.Size
	if !r.d.More() { // also where a bracket closes nothing
		if _, err := r.d.Token(); err == io.EOF {
			return io.EOF
		}
	}
	return nil
}

// End fails if anything follows the document. It reads to the end of the stream: compressed data
// are known to be whole only there.
func (r *Reader) End() error {
	if token, err := r.d.Token(); err == nil {
		return fmt.Errorf("expected the end, found %.100q", fmt.Sprint(token))
	} else if err != io.EOF {
		return err
	}
	return nil
}

// Decode reads one value, as json.Decoder does.
func (r *Reader) Decode(v any) error { return r.d.Decode(v) }

// Skip reads a value that nobody wants.
func (r *Reader) Skip() error {
	var value json.RawMessage
	return r.d.Decode(&value)
}

// Object reads an object, and lets member read the value of each of its members. It returns their
// names, at most 64 of them.
func (r *Reader) Object(member func(name string) error) (seen map[string]bool, err error) {
	if err := r.delim('{'); err != nil {
		return nil, err
	}
	seen = map[string]bool{}
	for r.d.More() {
		token, err := r.d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if seen[name] {
			return nil, fmt.Errorf("member %.100q comes twice", name)
		}
		if len(seen) < maxMembers {
			seen[name] = true
		}
		if err := member(name); err != nil {
			return nil, fmt.Errorf("%.100q: %w", name, err)
		}
	}
	return seen, r.delim('}')
}

// List reads a list of at most limit elements.
func (r *Reader) List(limit int, element func() error) error {
	if err := r.delim('['); err != nil {
		return err
	}
	for n := 0; r.d.More(); n++ {
		if n == limit {
			return fmt.Errorf("more than %d elements", limit)
		}
		if err := element(); err != nil {
			return fmt.Errorf("element %d: %w", n, err)
		}
	}
	return r.delim(']')
}

func (r *Reader) delim(want json.Delim) error {
	token, err := r.d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("found %.100v where %v is wanted", token, want)
	}
	return err
}

// Error words why the document named by schema cannot be read, and where that was found. What a decoder
// quotes may be as long as the document: it is cut.
func (r *Reader) Error(schema string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("the document is cut short: %w", io.ErrUnexpectedEOF)
	}
	if line := err.Error(); len(line) > maxError {
		err = errors.New(strings.ToValidUTF8(line[:maxError], "") + "…")
	}
	return fmt.Errorf("read %s: at byte %d: %w", schema, r.d.InputOffset(), err)
}

// bounded fails where a document or an element of it is too long, instead of letting the decoder
// keep all of it.
type bounded struct {
	r      io.Reader
	limits Limits
	got    int64
	limit  int64        // offset that the document must not pass
	used   func() int64 // offset up to which the decoder has understood
}

func (b *bounded) Read(buf []byte) (int, error) {
	switch {
	case b.got-b.used() > b.limits.Element:
		return 0, fmt.Errorf("an element of more than %d bytes", b.limits.Element)
	case b.used() > b.limit:
		return 0, fmt.Errorf("a document of more than %d bytes", b.limits.Size)
	}
	// The decoder looks at all blanks again whenever something comes: it gets as much as it asks
	// for, which is each time twice as much.
	n, err := io.ReadFull(b.r, buf)
	if err == io.ErrUnexpectedEOF && n > 0 {
		err = nil // comes again as io.EOF, or for compressed data that were cut as itself
	}
	b.got += int64(n)
	return n, err
}
