package dump

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sort"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/work"
)

// Bounds of one process in a saved file, whatever that says.
const (
	maxBatches = 1 << 12
	maxThreads = 1 << 18
	maxReaders = 1 << 26 // threads times the ranges that all of them have in common
)

// ErrNotSaved is the cause of a read of memory that the process had and the file does not have.
var ErrNotSaved = errors.New("not in the saved snapshot")

var (
	errNoMaps   = errors.New("it has no mappings")
	errTooLarge = errors.New("it has more threads, batches or ranges of memory than are walked")
	errLeft     = errors.New("not in the saved file")
)

// Open opens a file that a process had mapped, if it is here: with the build id of f.
type Open func(f *snapshot.File) (*module.File, error)

// Replayer makes dumps of processes again from what a [Saver] wrote. The bytes may come from anybody.
type Replayer struct {
	in   *snapshot.Reader
	open Open
	opt  Options
	next *snapshot.Snapshot // that was read and belongs to another process than the one before
}

// NewReplayer returns a Replayer of the processes in r. Their files are opened by open and closed by the caller. What
// the file takes is held in the budget of opt.
func NewReplayer(r io.Reader, open Open, opt Options) *Replayer {
	return &Replayer{in: snapshot.NewReader(r, opt.Names.Budget), open: open, opt: opt}
}

// Next returns the dump of the next process, io.EOF behind the last one. It fails as [snapshot.Reader.Read] does, and
// nothing further can be read then.
func (r *Replayer) Next() (*profile.Dump, error) {
	first := r.next
	if r.next = nil; first == nil {
		var err error
		if first, err = r.in.Read(); err != nil {
			return nil, err
		}
	}
	if first.Maps == nil {
		return nil, fmt.Errorf("replay process %d: %w", first.Process.PID, errNoMaps)
	}
	if !isWalkable(first) {
		return nil, fmt.Errorf("replay process %d: %w", first.Process.PID, errTooLarge)
	}
	w, memory := r.walk(first)
	defer w.Close()
	whole, err := r.batches(w, memory, first)
	if err != nil {
		return nil, err
	}
	d := w.Dump(whole)
	restoreWaits(d, memory.contents)
	return d, nil
}

// isWalkable reports whether walking s is bounded by its size.
func isWalkable(s *snapshot.Snapshot) bool { return len(s.Memory)*len(s.Threads) <= maxReaders }

// walk begins the walk of a process.
func (r *Replayer) walk(first *snapshot.Snapshot) (*Walk, *memory) {
	memory := newMemory(first)
	first.Whole = sorted(first.Whole)
	image := module.Image{Memory: memory, Mapping: func(m *maps.Mapping) (*module.File, error) {
		i := slices.IndexFunc(first.Files, func(f snapshot.File) bool {
			return f.Path == m.Path && f.Dev == m.Dev && f.Inode == m.Inode
		})
		switch {
		case i < 0:
			return nil, fmt.Errorf("open %q: which file it was is %w", m.Path, ErrNotSaved)
		case first.Files[i].NotELF:
			return nil, fmt.Errorf("open %q: %w", m.Path, module.ErrNotELF)
		}
		return r.open(&first.Files[i])
	}, Path: memory.open, Search: memory.search, Replayed: true}
	opt := r.opt
	opt.Uncopied = len(first.Whole) == 0
	return New(first.Maps, image, opt), memory
}

// batches walks all batches of a process, and returns them together.
func (r *Replayer) batches(w *Walk, memory *memory, first *snapshot.Snapshot) (*snapshot.Snapshot, error) {
	left := first.Left
	w.Batch(first)
	first.Batches, first.Left = 1, nil
	if len(left) > 0 { // what the next Read gives back is in use still
		held := int64(0)
		for _, m := range first.Running {
			held += int64(len(m.Data))
		}
		for _, c := range first.Contents {
			held += int64(len(c.Data))
		}
		if !r.opt.Names.Budget.Hold(held) {
			return nil, fmt.Errorf("replay process %d: %w", first.Process.PID, work.ErrMemory)
		}
		defer r.opt.Names.Budget.Release(held)
	}
	for len(left) > 0 {
		first.Forget()
		next, err := r.in.Read()
		switch {
		case errors.Is(err, io.EOF):
		case err != nil:
			return nil, err
		case next.Process.PID != first.Process.PID || next.Batches != first.Batches+1:
			r.next = next
		case first.Batches >= maxBatches || len(first.Threads)+len(next.Threads) > maxThreads || !isWalkable(next):
			return nil, fmt.Errorf("replay process %d: %w", first.Process.PID, errTooLarge)
		default:
			if next.Maps == nil {
				next.Maps = first.Maps
			}
			memory.batch(next)
			w.Batch(next)
			left = next.Left
			first.Append(next)
			continue
		}
		first.LeaveOut(left, errLeft)
		left = nil
	}
	return first, nil
}

// memory is what a saved file has of the memory of a process, and of files by their path: what was read for the batch
// that is walked, and what was read for the first one.
type memory struct {
	absent absent
	first  *mem.Overlay
	now    *mem.Overlay
	held   maps.Spans // of first

	contents, earlier []snapshot.Content // of the batch that is walked, and of the first one
}

func newMemory(first *snapshot.Snapshot) *memory {
	m := &memory{absent: absent{first.Maps}, contents: first.Contents, earlier: first.Contents}
	ranges := sorted(first.Running)
	m.first, m.held = mem.NewOverlay(m.absent, ranges...), spansOf(ranges)
	m.now = m.first
	return m
}

// batch makes m that of a further batch.
func (m *memory) batch(s *snapshot.Snapshot) {
	m.now, m.contents = mem.NewOverlay(m.first, sorted(s.Running)...), s.Contents
}

// ReadMem implements [mem.Reader].
func (m *memory) ReadMem(b []byte, addr mem.Addr) (int, error) { return m.now.ReadMem(b, addr) }

// search implements Search of [module.Image]: what was read for the first batch of the mapping, as one piece where it
// is.
func (m *memory) search(mapping *maps.Mapping, yield func(at mem.Addr, b []byte) bool) error {
	for _, s := range m.held {
		start, end := max(s.Start, mapping.Start), min(s.End, mapping.End)
		for start < end {
			b := make([]byte, min(end-start, 1<<20))
			if _, err := m.first.ReadMem(b, start); err != nil {
				break
			}
			if !yield(start, b) {
				return nil
			}
			start += mem.Addr(len(b))
		}
	}
	return nil
}

// spansOf are the spans that ranges hold, which are sorted.
func spansOf(ranges []mem.Range) (out maps.Spans) {
	for _, r := range ranges {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End())
		} else {
			out = append(out, maps.Span{Start: r.Start, End: r.End()})
		}
	}
	return out
}

// open opens a file that was saved with its content, as it was for the batch that is walked.
func (m *memory) open(path string) (*module.File, error) {
	for _, contents := range [][]snapshot.Content{m.contents, m.earlier} {
		for i := range contents {
			if contents[i].Path == path {
				return &module.File{Data: contents[i].Data, Path: path, Beside: m.open}, nil
			}
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// sorted lists ranges by address: an Overlay of millions in another order would take long to make.
func sorted(ranges []mem.Range) []mem.Range {
	sort.SliceStable(ranges, func(i, j int) bool { return ranges[i].Start < ranges[j].Start })
	return ranges
}

// absent is memory that is not in the file.
type absent struct{ table *maps.Table }

// ReadMem implements [mem.Reader].
func (a absent) ReadMem(b []byte, addr mem.Addr) (int, error) {
	why := mem.ErrUnmapped
	if m := a.table.Find(addr); m != nil && m.Perm&maps.Read != 0 {
		why = ErrNotSaved
	}
	return 0, &mem.FaultError{Addr: addr, Len: len(b), Err: why}
}
