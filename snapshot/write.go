package snapshot

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fpstack/fpstack/mem"
)

// A recorded snapshot is gzip over: the magic line, then records in this order: one head, the mappings, the files, the
// contents of others, the threads, each with the ranges that were copied of it, the further ranges of memory, those of
// the whole process, those that were read while the threads ran, one end. A record is a letter, the length of its JSON
// as four bytes little-endian, and the JSON. A thread, a content and a range are followed by the bytes that they
// announce. The same Snapshot gives the same bytes. A file has one recorded snapshot or several, one after the other.
const magic = "fpstack snapshot 1\n"

const (
	recordHead    = 'H'
	recordMapping = 'M'
	recordFile    = 'F'
	recordThread  = 'T'
	recordCopied  = 'C' // a range of the thread before
	recordContent = 'P'
	recordRange   = 'R'
	recordWhole   = 'W' // a range that belongs to the whole process
	recordRunning = 'L' // a range that was read while the threads ran
	recordEnd     = 'E'
)

// Bounds of a recorded file. They keep a small hostile file from filling the memory; a
// snapshot beyond them is not written.
const (
	maxRecord   = 16 << 20  // bytes of JSON in one record
	maxJSON     = 128 << 20 // bytes of JSON in all
	maxMappings = 1 << 20
	maxThreads  = 1 << 18
	maxRanges   = 1 << 20
	maxCopied   = 1 << 12 // ranges of one thread
	maxMemory   = 1 << 30 // bytes of stacks and further ranges
)

// Write stores s. Errors in s are stored as their text, times in UTC. Registers that no
// NT_PRSTATUS note holds are not stored.
//
// It fails with a *LimitError if s is larger than a [Reader] accepts.
func Write(w io.Writer, s *Snapshot) error {
	zw := gzip.NewWriter(w)
	e := &encoder{w: bufio.NewWriterSize(zw, 64<<10)}
	err := e.snapshot(s)
	if err == nil {
		err = e.w.Flush()
	}
	if cerr := zw.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write snapshot of process %d: %w", s.Process.PID, err)
	}
	return nil
}

type encoder struct {
	w      *bufio.Writer // keeps its first error
	json   uint64
	memory uint64
	room   struct{ ranges, bytes int } // for what was copied of threads
}

// leave makes room for all of s but what was copied of threads, and returns how many ranges that is.
func (e *encoder) leave(s *Snapshot) (ranges int) {
	size := 0
	for _, list := range [][]mem.Range{s.Memory, s.Running, s.Whole} {
		ranges += len(list)
		for i := range list {
			size += len(list[i].Data)
		}
	}
	for i := range s.Contents {
		size += len(s.Contents[i].Data)
	}
	for i := range s.Threads {
		size += len(s.Threads[i].Stack.Data)
	}
	ranges += len(s.Contents)
	e.room.ranges, e.room.bytes = maxRanges-ranges, maxMemory-size
	return ranges
}

var errRoom = errors.New("a file has no room for all that was copied")

// fit cuts what was copied of t to what there is room for. What Copiers may copy of each thread is bounded, and what
// they copy of all is more than a file may hold.
func (e *encoder) fit(t Thread) Thread {
	n := 0
	for ; n < len(t.Copied) && n < maxCopied && e.room.ranges > 0 && e.room.bytes >= len(t.Copied[n].Data); n++ {
		e.room.ranges--
		e.room.bytes -= len(t.Copied[n].Data)
	}
	if n < len(t.Copied) {
		t.Copied = t.Copied[:n]
		t.Shortfalls = append(slices.Clip(t.Shortfalls), Shortfall{"saved", errRoom})
	}
	return t
}

func (e *encoder) snapshot(s *Snapshot) error {
	if err := withinCounts(counts{mappings: max(len(s.Maps.All()), len(s.Files)),
		threads: len(s.Threads) + len(s.Left), ranges: e.leave(s)}); err != nil {
		return err
	}
	e.w.WriteString(magic)
	if err := e.record(recordHead, headOf(s)); err != nil {
		return err
	}
	for i := range s.Maps.All() {
		if err := e.record(recordMapping, mappingOf(&s.Maps.All()[i])); err != nil {
			return err
		}
	}
	for i := range s.Files {
		if err := e.record(recordFile, fileOf(&s.Files[i])); err != nil {
			return err
		}
	}
	for _, c := range s.Contents {
		if err := e.record(recordContent, wireContent{text(c.Path), uint64(len(c.Data))}); err != nil {
			return err
		}
		if err := e.bytes(c.Data); err != nil {
			return err
		}
	}
	for i := range s.Threads {
		t := e.fit(s.Threads[i])
		if err := e.thread(&t); err != nil {
			return err
		}
	}
	if err := e.memoryRanges(recordRange, s.Memory); err != nil {
		return err
	}
	if err := e.memoryRanges(recordRunning, s.Running); err != nil {
		return err
	}
	if err := e.memoryRanges(recordWhole, s.Whole); err != nil {
		return err
	}
	return e.record(recordEnd, struct{}{})
}

// counts are the numbers of what a recorded snapshot holds.
type counts struct {
	mappings int
	threads  int // with those that are left
	ranges   int
	copied   int // ranges of one thread, the most
}

func withinCounts(n counts) error {
	for _, c := range []struct {
		what    string
		has, at int
	}{{"mappings", n.mappings, maxMappings}, {"threads", n.threads, maxThreads},
		{"ranges of memory", n.ranges, maxRanges}, {"ranges of memory of one thread", n.copied, maxCopied}} {
		if c.has > c.at {
			return &LimitError{c.what, uint64(c.has), uint64(c.at)}
		}
	}
	return nil
}

func (e *encoder) thread(t *Thread) error {
	w, err := threadOf(t)
	if err != nil {
		return fmt.Errorf("thread %d: %w", t.TID, err)
	}
	if err := e.record(recordThread, w); err != nil {
		return fmt.Errorf("thread %d: %w", t.TID, err)
	}
	if err := e.bytes(t.Stack.Data); err != nil {
		return err
	}
	return e.memoryRanges(recordCopied, t.Copied)
}

func (e *encoder) memoryRanges(kind byte, ranges []mem.Range) error {
	for _, r := range ranges {
		if err := e.record(kind, rangeOf(r)); err != nil {
			return err
		}
		if err := e.bytes(r.Data); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) record(kind byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := checkJSON(uint64(len(b)), &e.json); err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(b)))
	e.w.Write(head)
	_, err = e.w.Write(b)
	return err
}

func (e *encoder) bytes(b []byte) error {
	if e.memory += uint64(len(b)); e.memory > maxMemory {
		return &LimitError{"bytes of memory", e.memory, maxMemory}
	}
	_, err := e.w.Write(b)
	return err
}
