package snapshot

import (
	"errors"
	"fmt"
	"io"
)

// read returns the only Snapshot in r.
func read(r io.Reader) (*Snapshot, error) {
	in := NewReader(r, nil)
	s, err := in.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read snapshot: %w", &FormatError{"gzip header", io.ErrUnexpectedEOF})
	case err != nil:
		return nil, err
	}
	if _, err := in.in.Peek(1); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read snapshot: %w", &FormatError{"end", errors.New("more bytes behind it")})
	}
	return s, nil
}
