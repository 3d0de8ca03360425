package coreclr

import (
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// fileMemory is memory of a core, which has no pages of files that nobody wrote to, as assemblies are: those are read
// from the files that were mapped, where the core's opener believes them. It is for one goroutine at a time.
type fileMemory struct {
	mem.Reader
	open  module.Opener
	table *maps.Table // of the last Mapped; nil before
	files map[fileKey]openedFile
}

type fileKey struct {
	path       string
	dev, inode uint64
}

type openedFile struct {
	file *module.File
	err  error
}

const maxFiles = 1 << 12

// newFileMemory returns the memory of image; nil if that is of a process that runs, which has its files in memory.
func newFileMemory(image module.Image) *fileMemory {
	if image.Live != nil || image.Mapping == nil {
		return nil
	}
	return &fileMemory{Reader: image.Memory, open: image.Mapping, files: map[fileKey]openedFile{}}
}

// ReadMem implements mem.Reader.
func (f *fileMemory) ReadMem(b []byte, a mem.Addr) (int, error) {
	n, err := f.Reader.ReadMem(b, a)
	for err != nil && n < len(b) {
		had, failed := f.readFile(b[n:], a+mem.Addr(n))
		if failed != nil {
			return n, failed
		}
		if had == 0 {
			return n, err
		}
		if n += had; n < len(b) {
			had, err = f.Reader.ReadMem(b[n:], a+mem.Addr(n))
			n += had
		}
	}
	if n == len(b) {
		err = nil
	}
	return n, err
}

// readFile reads what the file has that is mapped at a, as far as one mapping goes; 0 where no file is.
func (f *fileMemory) readFile(b []byte, a mem.Addr) (n int, err error) {
	if f.table == nil {
		return 0, nil
	}
	m := f.table.Find(a)
	if m == nil || !m.IsFile() {
		return 0, nil
	}
	x := f.opened(m)
	if x.err != nil {
		return 0, x.err
	}
	b = b[:min(uint64(len(b)), uint64(m.End-a))]
	clear(b) // behind its end
	err = module.Guard(x.file.Path, func() error {
		if at := uint64(a-m.Start) + uint64(m.Offset); at < uint64(len(x.file.Data)) {
			copy(b, x.file.Data[at:])
		}
		return nil
	})
	return len(b), err
}

func (f *fileMemory) opened(m *maps.Mapping) openedFile {
	key := fileKey{m.Path, m.Dev, m.Inode}
	x, ok := f.files[key]
	if !ok && len(f.files) < maxFiles {
		x.file, x.err = f.open(m)
		f.files[key] = x
	} else if !ok {
		x.err = errBounds
	}
	return x
}
