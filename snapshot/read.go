package snapshot

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

// IsSaved reports whether a file that begins with head, some kilobytes, holds recorded snapshots.
func IsSaved(head []byte) bool {
	zr, err := gzip.NewReader(bytes.NewReader(head))
	if err != nil {
		return false
	}
	line := make([]byte, len(magic))
	_, err = io.ReadFull(zr, line)
	return err == nil && string(line) == magic
}

// Reader reads recorded snapshots, one after the other, from one file. It accepts any bytes and keeps to bounds: at
// most 1 GiB of memory and 128 MiB of JSON a snapshot, whatever the file announces, within what its Budget has.
type Reader struct {
	in     *bufio.Reader
	budget *work.Budget
	held   int64 // bytes that the snapshot read last takes
	err    error // what ended the file
}

// NewReader returns a Reader of the snapshots in r. What they take is held in b; nil: no further bound.
func NewReader(r io.Reader, b *work.Budget) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10), budget: b}
}

// Read returns the next Snapshot, io.EOF behind the last one. The one before it may be used no longer.
//
// It fails with a *FormatError if the file is not one, is of another version, damaged or incomplete, with a *LimitError
// if it is too large, and with the reason of the Budget. Nothing further can be read then.
func (r *Reader) Read() (*Snapshot, error) {
	r.budget.Release(r.held)
	r.held = 0
	if r.err != nil {
		return nil, r.err
	}
	if _, err := r.in.Peek(1); errors.Is(err, io.EOF) {
		r.err = io.EOF
		return nil, r.err
	}
	s, err := r.next()
	if err != nil {
		r.err = fmt.Errorf("read snapshot: %w", err)
		return nil, r.err
	}
	return s, nil
}

func (r *Reader) next() (*Snapshot, error) {
	zr, err := gzip.NewReader(r.in)
	if err != nil {
		return nil, &FormatError{"gzip header", whole(err)}
	}
	zr.Multistream(false)
	d := &decoder{r: bufio.NewReaderSize(r.budget.Reader(zr, 1), 64<<10), hold: r.hold}
	return d.snapshot()
}

// hold takes n bytes from the budget until the next Read.
func (r *Reader) hold(n uint64) error {
	if !r.budget.Hold(int64(n)) {
		return work.ErrMemory
	}
	r.held += int64(n)
	return nil
}

// whole turns the end of the file into an unexpected one.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

const (
	// recordSize is about what a record takes in memory besides what its text says, bytes.
	recordSize = 256
	// decoded is how much more than its text what that says may take: a list of empty names.
	decoded = 5
)

type decoder struct {
	r        *bufio.Reader
	hold     func(n uint64) error // asked for what is kept, bytes
	out      *Snapshot
	mappings []maps.Mapping
	ranges   int // in all
	json     uint64
	memory   uint64
}

func (d *decoder) snapshot() (*Snapshot, error) {
	line := make([]byte, len(magic))
	if _, err := io.ReadFull(d.r, line); err != nil {
		return nil, &FormatError{"first line", whole(err)}
	}
	if string(line) != magic {
		return nil, &FormatError{"first line", fmt.Errorf("%q, want %q", line, magic)}
	}
	var head wireHead
	if kind, err := d.record(&head); err != nil {
		return nil, &FormatError{"head", err}
	} else if kind != recordHead {
		return nil, &FormatError{"head", fmt.Errorf("record %q in its place", kind)}
	}
	s, err := head.snapshot()
	if err != nil {
		return nil, &FormatError{"head", err}
	}
	d.out = s
	if err := d.records(); err != nil {
		return nil, err
	}
	if head.HasMaps {
		s.Maps = maps.NewTable(d.mappings)
	}
	if _, err := d.r.ReadByte(); !errors.Is(err, io.EOF) { // also checks the sum of gzip
		return nil, &FormatError{"end", fmt.Errorf("more bytes behind it (%v)", err)}
	}
	return s, nil
}

// records reads what is behind the head. Each record has at least seven bytes of JSON and
// letter, so maxJSON and the counts bound the loop.
func (d *decoder) records() error {
	for {
		var raw json.RawMessage
		kind, err := d.record(&raw)
		if err != nil {
			return &FormatError{"record", err}
		}
		switch kind {
		case recordMapping:
			err = d.mapping(raw)
		case recordFile:
			err = d.file(raw)
		case recordContent:
			err = d.content(raw)
		case recordThread:
			err = d.thread(raw)
		case recordCopied:
			err = d.copied(raw)
		case recordRange:
			err = d.memoryRange(raw, &d.out.Memory)
		case recordWhole:
			err = d.memoryRange(raw, &d.out.Whole)
		case recordRunning:
			err = d.memoryRange(raw, &d.out.Running)
		case recordEnd:
			return nil
		default:
			err = &FormatError{"record", fmt.Errorf("kind %q is not known", kind)}
		}
		if err == nil {
			err = withinCounts(d.counts())
		}
		if err != nil {
			return err
		}
	}
}

func (d *decoder) counts() counts {
	n := counts{mappings: max(len(d.mappings), len(d.out.Files)), threads: len(d.out.Threads) + len(d.out.Left),
		ranges: d.ranges}
	if last := len(d.out.Threads) - 1; last >= 0 {
		n.copied = len(d.out.Threads[last].Copied)
	}
	return n
}

func (d *decoder) file(raw []byte) error {
	var w wireFile
	if err := json.Unmarshal(raw, &w); err != nil {
		return &FormatError{fmt.Sprintf("file %d", len(d.out.Files)), err}
	}
	d.out.Files = append(d.out.Files, w.file())
	return nil
}

func (d *decoder) content(raw []byte) error {
	var w wireContent
	name := fmt.Sprintf("content %d", len(d.out.Contents))
	d.ranges++
	if err := json.Unmarshal(raw, &w); err != nil {
		return &FormatError{name, err}
	}
	b, err := d.bytes(wireRange{Size: w.Size})
	if err != nil {
		return &FormatError{name, err}
	}
	d.out.Contents = append(d.out.Contents, Content{string(w.Path), b})
	return nil
}

func (d *decoder) mapping(raw []byte) error {
	var w wireMapping
	if err := json.Unmarshal(raw, &w); err != nil {
		return &FormatError{fmt.Sprintf("mapping %d", len(d.mappings)), err}
	}
	d.mappings = append(d.mappings, w.mapping())
	return nil
}

func (d *decoder) thread(raw []byte) error {
	var w wireThread
	name := fmt.Sprintf("thread %d", len(d.out.Threads))
	if err := json.Unmarshal(raw, &w); err != nil {
		return &FormatError{name, err}
	}
	t, err := w.thread()
	if err != nil {
		return &FormatError{name, err}
	}
	if t.Stack.Data, err = d.bytes(w.Stack); err != nil {
		return &FormatError{name, err}
	}
	d.out.Threads = append(d.out.Threads, t)
	return nil
}

// copied reads a range of the thread that was read last.
func (d *decoder) copied(raw []byte) error {
	if len(d.out.Threads) == 0 {
		return &FormatError{"copied range", errors.New("no thread before it")}
	}
	return d.memoryRange(raw, &d.out.Threads[len(d.out.Threads)-1].Copied)
}

func (d *decoder) memoryRange(raw []byte, to *[]mem.Range) error {
	var w wireRange
	name := fmt.Sprintf("memory range %d", d.ranges)
	d.ranges++
	if err := json.Unmarshal(raw, &w); err != nil {
		return &FormatError{name, err}
	}
	b, err := d.bytes(w)
	if err != nil {
		return &FormatError{name, err}
	}
	*to = append(*to, mem.Range{Start: w.Start, Data: b})
	return nil
}

// record reads one record into v and returns its kind.
func (d *decoder) record(v any) (kind byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(d.r, head[:]); err != nil {
		return 0, whole(err)
	}
	n := uint64(binary.LittleEndian.Uint32(head[1:]))
	if err := checkJSON(n, &d.json); err != nil {
		return 0, err
	}
	if err := d.hold(decoded*n + recordSize); err != nil {
		return 0, err
	}
	b, err := d.take(n)
	if err != nil {
		return 0, err
	}
	return head[0], json.Unmarshal(b, v)
}

// bytes reads the bytes that a range announces.
func (d *decoder) bytes(w wireRange) ([]byte, error) {
	if w.Size > maxMemory || d.memory+w.Size > maxMemory {
		return nil, &LimitError{"bytes of memory", d.memory + w.Size, maxMemory}
	}
	if w.Size > 0 && uint64(w.Start)+w.Size-1 < uint64(w.Start) {
		return nil, fmt.Errorf("%d bytes at %#x reach behind the address space", w.Size, uint64(w.Start))
	}
	d.memory += w.Size
	if err := d.hold(w.Size); err != nil {
		return nil, err
	}
	return d.take(w.Size)
}

// take reads n bytes. It allocates as they come, not as they are announced.
func (d *decoder) take(n uint64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, d.r, int64(n)); err != nil {
		return nil, whole(err)
	}
	return b.Bytes(), nil
}
