package module

import (
	"io"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
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
	// Look opens a file as Path does, to compare something with it: its content does not belong into a snapshot.
	Look func(path string) (*File, error)
	// Live shows what only a process has that runs. It reads a few files of /proc.
	Live func() (*Live, error)
	// Search gives yield the bytes of the mapping m that are in memory, ascending, until it returns false: what is
	// swapped out or was never touched stays as it is. They are valid until yield returns, and of the time when they
	// are read. It takes as long as reading them: nothing may be stopped. It fails with [ErrSwapped] behind the last
	// where some of the mapping is swapped out.
	Search func(m *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error
	// Replayed says that Search has what was kept of a recording, and not what was copied for it in a stop.
	Replayed bool
	// Scratch is the memory, as Memory reads it, for who reads much of which little is of use: Keep is told what.
	// Nothing else of it is kept with a snapshot. nil: it is Memory, and nobody keeps anything.
	Scratch mem.Reader
	Keep    func(mem.Range)
	// Budget is what runtimes of the process may take to read all that, steps and bytes: a share of the run's.
	Budget *work.Budget
}

// Live is a process that runs, as the files see it that it writes while it runs: by its own number and clock.
type Live struct {
	PID   int           // in the pid namespace that it lives in
	Began time.Time     // by the wall clock
	Start time.Duration // the same by its CLOCK_MONOTONIC
	// Monotonic is a moment by its CLOCK_MONOTONIC.
	Monotonic func(time.Time) time.Duration
	// Log opens a file that the process may be writing, by its absolute path in the view of the process; MappedLog
	// opens the file behind a mapping. Both refuse what may not be read for somebody else: what is no regular file,
	// what belongs neither to the process's user nor to root, what has a second name, what is reached by a link or
	// lies in a file system that another process answers for. They may wait for a disk: nothing may be stopped.
	Log       func(path string) (Log, error)
	MappedLog func(m *maps.Mapping) (Log, error)
}

// Log is a regular file that somebody may be writing: it may grow, and become shorter. It may be used by any goroutine,
// and stays what it is when the process has ended.
type Log interface {
	io.ReaderAt
	Stat() (LogStat, error)
	Close() error
}

// LogStat is what a Log is now.
type LogStat struct {
	Size       int64
	Dev, Inode uint64 // the file itself
	Changed    time.Time
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
