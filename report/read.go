package report

import (
	"io"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// limits bound one document.
type limits struct {
	jsondoc.Limits
	threads int
	frames  int
	modules int
	fibers  int
}

// usual allows the frames of 2000 threads at the default of 1024 for each.
var usual = limits{Limits: jsondoc.Limits{Size: 1 << 30, Element: 64 << 20}, threads: 1 << 19, frames: 1 << 21,
	modules: 1 << 16, fibers: 1 << 22}

// Reader reads back what [JSON] wrote, document after document.
type Reader struct {
	limits limits
	in     *jsondoc.Reader
	err    error // what ended the stream
}

// NewReader returns a Reader of the documents in r.
func NewReader(r io.Reader) *Reader { return newReader(r, usual) }

func newReader(r io.Reader, l limits) *Reader {
	return &Reader{limits: l, in: jsondoc.NewReader(r, l.Limits)}
}

// Read returns the next document, io.EOF behind the last one. Members that it does not know are
// left out, so that later documents of the same schema can be read. What JSON does not hold
// (Start, End and Offset of modules) is zero.
//
// It fails if the stream does, if a document is cut short, of another schema or inconsistent, and
// if it has more than a GiB, 2^21 frames, 2^19 threads, 2^22 fibers or 2^16 modules. No further document can be
// read then. Memory stays within a small multiple of the document's size.
func (r *Reader) Read() (*profile.Dump, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.err = r.in.Next(); r.err != nil {
		return nil, r.err
	}
	in := &dumpReader{Reader: r.in, limits: r.limits, words: map[string]string{}, known: map[int]int{}}
	err := in.document()
	if err == nil {
		err = in.connect()
	}
	if err == nil {
		return &in.dump, nil
	}
	r.err = r.in.Error(Schema, err)
	return nil, r.err
}
