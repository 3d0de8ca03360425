package flame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/fpstack/fpstack/profile"
)

// FoldedReport says what [ReadFolded] met.
type FoldedReport struct {
	Lines   int    // understood
	Skipped int    // not understood; blank lines do not count
	Number  int    // of the first line that was not, from 1
	First   string // what is there, cut at 200 bytes
	Factor  int64  // what all values were multiplied by, because some were fractions
	Joined  int    // rare stacks that are counted as "(smaller)", because there were too many
}

// Comments says in short lines what of the input is not as it was.
func (r FoldedReport) Comments() []string {
	var out []string
	if r.Skipped > 0 {
		out = append(out, fmt.Sprintf("%d of %d lines not understood, the first is line %d: %s",
			r.Skipped, r.Skipped+r.Lines, r.Number, strconv.Quote(r.First)))
	}
	if r.Factor > 1 {
		out = append(out, fmt.Sprintf("values were fractions: all are multiplied by %d", r.Factor))
	}
	if r.Joined > 0 {
		out = append(out, r.JoinedNote())
	}
	return out
}

// JoinedNote says for a person what became of r.Joined stacks.
func (r FoldedReport) JoinedNote() string {
	return fmt.Sprintf("more stacks than are kept: of those that were rare when there were too many, %d are counted "+
		"as %s behind what they share with others", r.Joined, smallerName)
}

// Bounds of ReadFolded.
const (
	firstFoldedBlock = 64 << 10
	foldedBlockSize  = 2 << 20
	maxFoldedLine    = 64 << 20 // 2,000 frames with names of 10 kB are 20 MB
	maxFoldedDepth   = 1 << 20  // frames of a line: in memory each takes 24 bytes in several places
	maxShown         = 200
)

// foldedBounds are those of what is kept of all lines.
type foldedBounds struct {
	names int // different ones
	bytes int // of different names
	nodes int // of the call tree; above, the rarest stacks are joined
}

var largestFolded = foldedBounds{names: maxNames, bytes: 512 << 20, nodes: 6 << 20}

const foldedForm = "frames joined by ';', a space and a number"

var (
	errNothingFolded = errors.New("read folded: no line is understood: expected " + foldedForm)
	errFoldedSum     = errors.New("read folded: values add up to more than 63 bits")
)

// ReadFolded reads folded stacks as flamegraph.pl, inferno and others take them: outermost
// frame first, ';' between frames, white space, a number. Lines may end in CR LF. Values
// are of type samples/count; fractions are not cut but make all values larger ([FoldedReport]).
// _[k], _[j] and _[i] behind a name are a frame's kind: kernel, JIT, inlined.
//
// What the report says is in the profile's Comments too.
//
// A call tree of more than six million nodes is thinned out: the rarest stacks are joined, which the report says.
//
// It fails if r does, if most lines are not understood, if a line is longer than 64 MiB, and if names would take more
// than half a gigabyte. A line of more than 2^20 frames is not understood.
func ReadFolded(r io.Reader) (*profile.Profile, FoldedReport, error) {
	return readFolded(r, largestFolded)
}

func readFolded(r io.Reader, bounds foldedBounds) (*profile.Profile, FoldedReport, error) {
	workers := min(runtime.GOMAXPROCS(0), 4)
	f := &folder{names: newInterner(), hasher: newStackHasher(), stacks: newStackSet(), bounds: bounds}
	if err := f.run(r, workers); err != nil {
		return nil, f.report, err
	}
	switch {
	case f.report.Lines == 0:
		return nil, f.report, fmt.Errorf("%w%s", errNothingFolded, f.report.shownFirst())
	case f.report.Skipped > f.report.Lines:
		return nil, f.report, fmt.Errorf("read folded: %d of %d lines are not understood: expected %s%s",
			f.report.Skipped,
			f.report.Skipped+f.report.Lines, foldedForm, f.report.shownFirst())
	}
	p := f.profile()
	markKernelWaits(p)
	p.Comments = f.report.Comments()
	return p, f.report, nil
}

// run reads r in blocks, has workers take them apart, and adds them up in the order in
// which they were read: the result does not depend on who was faster.
func (f *folder) run(r io.Reader, workers int) error {
	blocks := 2*workers + 1
	free, work, order := make(chan *foldedBlock, blocks), make(chan *foldedBlock, blocks),
		make(chan *foldedBlock, blocks)
	for range blocks {
		free <- &foldedBlock{done: make(chan struct{}, 1)}
	}
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			w := &foldedWorker{hasher: f.hasher}
			for b := range work {
				w.parse(b)
				b.done <- struct{}{}
			}
		})
	}
	var failed atomic.Bool
	var addErr error
	wait.Go(func() {
		for b := range order {
			<-b.done
			if addErr == nil {
				if addErr = f.add(b); addErr != nil {
					failed.Store(true)
				}
			}
			free <- b
		}
	})
	err := readBlocks(r, func() *foldedBlock { return <-free }, func(b *foldedBlock) bool {
		work <- b
		order <- b
		return !failed.Load()
	})
	close(work)
	close(order)
	wait.Wait()
	return errors.Join(err, addErr)
}

// readBlocks cuts r into blocks that end with a line, until give returns false.
func readBlocks(r io.Reader, take func() *foldedBlock, give func(*foldedBlock) bool) error {
	var rest []byte          // of the last block: the begin of a line
	size := firstFoldedBlock // most inputs are small
	for eof := false; !eof; size = foldedBlockSize {
		b := take()
		b.data = append(b.data[:0], rest...)
		for whole := -1; whole < 0; {
			n := len(b.data)
			if n >= maxFoldedLine {
				return fmt.Errorf("read folded: a line is longer than %d MiB", maxFoldedLine>>20)
			}
			more := size - n%size // no more: behind the end of a long line may be frames of one byte
			b.data = slices.Grow(b.data, more)[:n+more]
			got, err := fill(r, b.data[n:])
			b.data = b.data[:n+got]
			if err == io.EOF {
				eof = true
				break
			}
			if err != nil {
				return fmt.Errorf("read folded: %w", err)
			}
			whole = bytes.LastIndexByte(b.data[n:], '\n')
		}
		if !eof {
			end := bytes.LastIndexByte(b.data, '\n') + 1
			rest = append(rest[:0], b.data[end:]...)
			b.data = b.data[:end]
		}
		if !give(b) {
			return nil
		}
	}
	return nil
}

// fill reads until buf is full. io.ReadFull does not distinguish the end of r from one that r calls
// unexpected, as that of a compressed file is that was cut.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for idle := 0; n < len(buf) && err == nil; idle++ {
		var got int
		got, err = r.Read(buf[n:])
		if n += got; got > 0 {
			idle = 0
		} else if idle > 100 && err == nil {
			err = io.ErrNoProgress
		}
	}
	if n == len(buf) {
		err = nil
	}
	return n, err
}

// folder adds blocks up.
type folder struct {
	names  *interner
	hasher stackHasher
	stacks *stackSet
	path   []profile.NodeID // of the line before, outermost first; 0 where it was not needed, but for the last
	self   []int64          // by node
	micro  []int64          // by node, millionths on top; nil until a fraction comes
	total  int64
	digits uint8 // most decimals of a fraction
	blank  int
	bounds foldedBounds
	report FoldedReport
}

func (f *folder) add(b *foldedBlock) error {
	f.path = f.path[:0]
	frames := b.frames
	for i := range b.lines {
		l := &b.lines[i]
		if l.bad {
			f.skip(b, int(l.at))
			continue
		}
		if f.total += l.value; f.total < 0 {
			return errFoldedSum
		}
		f.count(f.stack(b.data, int(l.keep), frames[:l.add]), l)
		frames = frames[l.add:]
	}
	f.blank += b.blank
	return f.checkSize()
}

// checkSize is asked after each block, which adds no more than a few megabytes or one line, and keeps to the bounds.
func (f *folder) checkSize() error {
	switch {
	case f.names.len() > f.bounds.names:
		return fmt.Errorf("read folded: more than %d different names", f.bounds.names)
	case f.names.size() > f.bounds.bytes:
		return fmt.Errorf("read folded: different names have more than %d bytes", f.bounds.bytes)
	case f.stacks.tree.Len() > f.bounds.nodes:
		f.thin()
	}
	return nil
}

// stack returns the stack that has the outer frames of the line before, as many as keep says, and
// behind these frames.
func (f *folder) stack(data []byte, keep int, frames []foldedFrame) profile.NodeID {
	n, known := profile.NodeID(0), len(frames)
	for ; known > 0; known-- {
		if node, ok := f.stacks.find(frames[known-1].hash); ok {
			n = node
			break
		}
	}
	if known == 0 {
		n = f.outer(keep)
	}
	f.path = f.path[:keep]
	for range known {
		f.path = append(f.path, 0)
	}
	if len(f.path) > 0 {
		f.path[len(f.path)-1] = n
	}
	for _, frame := range frames[known:] {
		id, _ := f.names.number(data[frame.start:frame.end])
		n = f.stacks.add(n, profile.FrameID(id), frame.hash)
		f.path = append(f.path, n)
	}
	return n
}

// outer returns the stack of the first frames of the line before.
func (f *folder) outer(frames int) profile.NodeID {
	if frames == 0 {
		return 0
	}
	at := frames - 1
	for f.path[at] == 0 {
		at++
	}
	n := f.path[at]
	for ; at >= frames; at-- {
		n = f.stacks.tree.Parent(n)
	}
	return n
}

// count adds what line l says to node n.
func (f *folder) count(n profile.NodeID, l *foldedLine) {
	f.report.Lines++
	f.self = reach(f.self, n)
	f.self[n] += l.value
	if l.digits > 0 {
		f.digits = max(f.digits, l.digits)
		f.micro = reach(f.micro, n)
		f.micro[n] += int64(l.micro)
	}
}

// skip counts a line that was not understood, which is in b at a position.
func (f *folder) skip(b *foldedBlock, at int) {
	if f.report.Skipped++; f.report.Skipped > 1 {
		return
	}
	text, _, _ := bytes.Cut(b.data[at:], []byte{'\n'})
	f.report.Number = f.report.Lines + f.blank + blankBefore(b, at) + 1
	f.report.First = string(bytes.TrimRight(text[:min(len(text), maxShown)], "\r"))
}

// blankBefore counts the empty lines of b in front of a position.
func blankBefore(b *foldedBlock, at int) int {
	n := 0
	for line := range bytes.Lines(b.data[:at]) {
		if from, to := trimSpace(line, 0, len(line)); from == to {
			n++
		}
	}
	return n
}

// reach makes s long enough for index n.
func reach[T any](s []T, n profile.NodeID) []T {
	if int(n) >= len(s) {
		if int(n) >= cap(s) {
			s = slices.Grow(s, int(n)+1)
		}
		grown := s[:n+1]
		clear(grown[len(s):])
		return grown
	}
	return s
}
