// Package unpack makes of a compressed stream a file that can be read at any place.
//
// The caller provides the stream and a file, and removes it. It knows nothing of what is in it. The stream may come
// from anybody: its decoders hold some megabytes, whatever it says, and what they give is bounded.
//
// Sources: RFC 1952 (gzip), RFC 8878 (Zstandard), the LZ4 frame format 1.6.
package unpack

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// MaxSize bounds what a stream may hold, bytes.
const MaxSize = 64 << 30

// ErrTooLarge says that a stream holds more than MaxSize.
var ErrTooLarge = fmt.Errorf("it holds more than %d GB", MaxSize>>30)

// maxWindow bounds what a zstd stream may refer back to, bytes: as much as zstd --long does by default.
const maxWindow = 128 << 20

// Peek is how many bytes Kind wants.
const Peek = 6

// Kind is the name of the compression that the bytes begin, "" if it is none that is known. Only "gzip", "lz4" and
// "zstd" can be read.
func Kind(head []byte) string {
	for _, k := range []struct{ magic, name string }{
		{"\x1f\x8b", "gzip"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"\x04\x22\x4d\x18", "lz4"}, {"\xfd7zXZ\x00", "xz"},
		{"BZh", "bzip2"},
	} {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.name
		}
	}
	return ""
}

// NewReader returns what a stream of that kind holds. With kind "" that is the stream itself.
func NewReader(kind string, r io.Reader) (io.ReadCloser, error) {
	switch kind {
	case "":
		return io.NopCloser(r), nil
	case "gzip":
		return gzip.NewReader(r)
	case "zstd":
		d, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	case "lz4":
		return io.NopCloser(lz4.NewReader(r)), nil
	}
	return nil, fmt.Errorf("compressed by %s, which is not read here: unpack it first", kind)
}

// File is what is written to.
type File interface {
	io.WriterAt
	Truncate(size int64) error
}

// block is how much is written at once, and the size of a hole.
const block = 64 << 10

// Copy writes what r holds to f, from its begin, and leaves out blocks of zeros: they are holes then. It returns how
// much that is, also with the error that ended it.
func Copy(f File, r io.Reader) (size int64, err error) {
	return copyUpTo(f, r, MaxSize)
}

func copyUpTo(f File, r io.Reader, most int64) (size int64, err error) {
	buf, zeros := make([]byte, block), make([]byte, block)
	for err == nil { // ends: what gives nothing is refused by fill
		var n int
		n, err = fill(buf, r)
		if size+int64(n) > most {
			n, err = int(most-size), ErrTooLarge
		}
		if n > 0 && !bytes.Equal(buf[:n], zeros[:n]) {
			if _, werr := f.WriteAt(buf[:n], size); werr != nil {
				err = werr
				break
			}
		}
		size += int64(n)
	}
	if terr := f.Truncate(size); terr != nil {
		return size, terr
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return size, err
}

// fill reads until b is full. With an error it returns what came before, and io.EOF only where the stream ends as it
// should: one that is cut gives io.ErrUnexpectedEOF.
func fill(b []byte, r io.Reader) (n int, err error) {
	const idle = 100 // reads without a byte, as bufio has it
	for empty := 0; n < len(b) && err == nil; {
		var got int
		got, err = r.Read(b[n:])
		if n += got; got > 0 {
			empty = 0
		} else if empty++; empty > idle {
			return n, io.ErrNoProgress
		}
	}
	return n, err
}
