package flame

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Bounds of files that are held in memory as a whole. Profiles of an hour are some ten megabytes.
const (
	maxFile   = 1 << 30 // bytes, after decompression
	maxWeight = 4 << 30 // bytes that decoding a file takes
	maxNodes  = 1 << 26 // of a call tree: each takes some 60 bytes while it is read
)

// numberWeight is what a number takes in place of a string: itself and the string, twice while
// the lists grow.
const numberWeight = 2 * (8 + 16)

var errPprofCut = errors.New("read pprof: file is cut short or not a profile.proto")

// readWhole reads what is left of r, at most maxFile bytes.
func readWhole(r io.Reader, format string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("read %s: file is cut short: its compressed data end after %d bytes of content: %w",
			format,
			len(data), err)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", format, err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("read %s: more than %d MiB", format, maxFile>>20)
	}
	return data, nil
}

// uncompressed returns a reader of what is in r, which may be compressed by gzip.
func uncompressed(r io.Reader) (io.Reader, error) {
	start := make([]byte, 2)
	n, err := io.ReadFull(r, start)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	whole := io.MultiReader(bytes.NewReader(start[:n]), r)
	if n < 2 || start[0] != 0x1f || start[1] != 0x8b {
		return whole, nil
	}
	return gzip.NewReader(whole)
}

// weigh estimates how many bytes a profile.proto takes when it is decoded, which may be a
// hundred times its size: an empty sample is two bytes in the file and 120 in memory.
// It fails if data are no sequence of fields; the estimate is of those before.
// Source: protobuf's encoding document, "message structure".
func weigh(data []byte) (int64, error) {
	var weight int64
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return weight, errPprofCut
		}
		data = data[n:]
		size := 0
		switch tag & 7 {
		case 0: // varint
			_, size = binary.Uvarint(data)
			weight += numberWeight // a comment is one number
		case 1: // 64 bits
			size = 8
		case 2: // length and bytes
			length, n := binary.Uvarint(data)
			if n <= 0 || length > uint64(len(data)-n) {
				return weight, errPprofCut
			}
			size = n + int(length)
			// One byte may be one number: 8 bytes, twice while ids are turned into references.
			weight += 256 + 24*int64(length)
		case 5: // 32 bits
			size = 4
		}
		if size <= 0 || size > len(data) {
			return weight, errPprofCut
		}
		data = data[size:]
	}
	return weight, nil
}
