package flame

import (
	"io"

	"github.com/fpstack/fpstack/profile"
)

// read is [Read] without options, and without the report of folded text.
func read(r io.Reader) (*profile.Profile, error) {
	p, _, err := Read(r, FoldedReadOptions{})
	return p, err
}
