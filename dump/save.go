package dump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// maxRunning bounds the bytes that are saved of what one batch needs of the memory besides what was copied in the stop:
// the vDSO, objects without a file, stacks that were not copied whole.
const maxRunning = 64 << 20

// maxContents bounds the bytes of the files that a process wrote for profilers, which are saved as they are.
const maxContents = 64 << 20

// Saver writes the snapshots of processes to one file, for a [Replayer]. It is for one process at a time.
type Saver struct {
	w        io.Writer
	memory   *mem.Keeper
	contents []snapshot.Content // of the process, since the last batch
	walk     *Walk
	pid      int
	batches  int
	last     *snapshot.Snapshot // of the process, until Finish
	err      error              // of the process
	short    error              // what was not saved of it
	broken   error              // of the file
	saved    int                // batches
}

// NewSaver returns a Saver that writes to w.
func NewSaver(w io.Writer) *Saver { return &Saver{w: w} }

// Image begins the next process: what is read of the memory of the image that it returns is saved, and files that are
// opened by their path and hold no program.
func (s *Saver) Image(i module.Image) module.Image {
	s.memory = mem.NewKeeper(i.Memory, maxRunning)
	i.Scratch, i.Keep = i.Memory, s.memory.Keep
	s.batches, s.last, s.err, s.short, s.walk, s.contents = 0, nil, nil, nil, nil, nil
	i.Memory = s.memory
	if open := i.Path; open != nil {
		i.Path = func(path string) (*module.File, error) {
			f, err := open(path)
			if err == nil {
				s.content(path, f)
			}
			return f, err
		}
	}
	return i
}

// content keeps what is in a file, and of one that was opened before what is in it now. Programs are known by their
// build ids.
func (s *Saver) content(path string, f *module.File) {
	s.contents = slices.DeleteFunc(s.contents, func(c snapshot.Content) bool { return c.Path == path })
	left := maxContents
	for _, c := range s.contents {
		left -= len(c.Data)
	}
	err := module.Guard(path, func() error {
		switch {
		case bytes.HasPrefix(f.Data, []byte("\x7fELF")):
		case len(f.Data) > left:
			s.short = fmt.Errorf("files for profilers of more than %d MB", maxContents>>20)
		default:
			s.contents = append(s.contents, snapshot.Content{Path: path, Data: bytes.Clone(f.Data)})
		}
		return nil
	})
	if err != nil {
		s.short = err
	}
}

// Batch saves a batch that w has walked. The last one is kept until Finish.
func (s *Saver) Batch(w *Walk, snap *snapshot.Snapshot) {
	s.walk, s.pid = w, snap.Process.PID
	s.batches++
	if len(snap.Left) == 0 {
		last := *snap
		last.Threads = slices.Clone(snap.Threads) // who made it may forget what was copied
		s.last = &last
		return
	}
	s.write(snap)
}

// Finish saves what is left of the process when its frames have names: what that took is in the file, too. It fails if
// something of the process could not be saved.
func (s *Saver) Finish() error {
	if s.last != nil {
		s.write(s.last)
		s.last = nil
	}
	if s.err == nil && s.short != nil {
		return fmt.Errorf("save process %d: not saved: %w", s.pid, s.short)
	}
	return s.err
}

// write writes one batch, or nothing of it.
func (s *Saver) write(batch *snapshot.Snapshot) {
	if s.broken != nil || s.err != nil {
		return
	}
	out := *batch
	out.Batches, out.Files, out.Running, out.Contents = s.batches, s.walk.files(), s.memory.Ranges(), s.contents
	if s.memory.Full() {
		s.short = fmt.Errorf("memory besides the stacks of more than %d MB", maxRunning>>20)
	}
	var b bytes.Buffer
	if err := snapshot.Write(&b, &out); err != nil {
		s.err = err
		return
	}
	s.memory.Forget()
	s.saved++
	if _, s.broken = s.w.Write(b.Bytes()); s.broken != nil {
		s.err = s.broken
	}
}

// Saved is how many snapshots were saved.
func (s *Saver) Saved() int { return s.saved }

// Err is why the file cannot be written, nil if it can.
func (s *Saver) Err() error { return s.broken }

// files lists the files that may hold code of the process, with what tells each from another of its path.
func (w *Walk) files() []snapshot.File {
	var out []snapshot.File
	seen := map[snapshot.File]bool{}
	for i := range w.set.Table().All() {
		m := &w.set.Table().All()[i]
		f := snapshot.File{Path: m.Path, Dev: m.Dev, Inode: m.Inode}
		if !m.IsFile() || m.Perm&maps.Exec == 0 || seen[f] {
			continue
		}
		seen[f] = true
		if found := w.set.Find(m.Start); found != nil {
			var err error
			if f.BuildID = found.BuildID(); f.BuildID == "" {
				f.Sum, err = found.LoadedSum()
			}
			if err != nil {
				f.Err, f.NotELF = err.Error(), errors.Is(err, module.ErrNotELF)
			}
		}
		out = append(out, f)
	}
	return out
}
