package module

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
)

// Image is one process as walking and naming see it: its memory, the files behind its mappings, and files by their
// path in its view. A live process, a recorded snapshot and a core file fill it, and what follows cannot tell them
// apart. A field may be nil: then nothing of that kind is to be had.
type Image struct {
	Memory  mem.Reader
	Mapping Opener
	// Path opens a file by its absolute path in the view of the process. Once the view is gone it fails with
	// fs.ErrNotExist.
	Path func(path string) (*File, error)
}

// open opens the file behind a mapping, with the view that it was opened through.
func (i *Image) open(m *maps.Mapping) (*File, error) {
	f, err := i.Mapping(m)
	if err == nil && f.Beside == nil {
		f.Beside = i.Path
	}
	return f, err
}

// Image is i with files that s knows: see [Shared.Opener].
func (s *Shared) Image(i Image) Image {
	if i.Mapping != nil {
		plain := i
		i.Mapping = s.Opener(plain.open)
	}
	return i
}
