package cmd

import (
	"fmt"

	"github.com/fpstack/fpstack/outfile"
	"github.com/fpstack/fpstack/snapshot/corefile"
	"github.com/fpstack/fpstack/snapshot/unpack"
)

// roomy is a file in a folder where others write too: it takes what there is room for, as a core that we write does.
type roomy struct {
	unpack.File
	room func() (int64, error) // bytes that may be written now
	left int64                 // of what it said last
}

// newRoomy returns f, which lies in folder dir.
func newRoomy(f unpack.File, dir string) *roomy {
	return &roomy{File: f, room: func() (int64, error) { return outfile.Room(dir) }}
}

// WriteAt writes all of b, or nothing where the file system is nearly full.
func (r *roomy) WriteAt(b []byte, at int64) (int, error) {
	n := int64(len(b))
	if r.left < n {
		room, err := r.room()
		if err != nil {
			return 0, err
		}
		if r.left = min(room, outfile.RoomStep); r.left < n {
			return 0, fmt.Errorf("%w: TMPDIR can name a folder with more room", corefile.ErrRoom)
		}
	}
	r.left -= n
	return r.File.WriteAt(b, at)
}
