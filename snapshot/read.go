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
)

// Read returns the Snapshot that [Write] stored. It accepts any bytes and keeps to bounds:
// at most 1 GiB of memory and 128 MiB of JSON, whatever the file announces.
//
// It fails with a *FormatError if the file is not one, is of another version, damaged or
// incomplete, and with a *LimitError if it is too large.
func Read(r io.Reader) (*Snapshot, error) {
	zr, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", &FormatError{"gzip header", whole(err)})
	}
	d := &decoder{r: bufio.NewReaderSize(zr, 64<<10)}
	s, err := d.snapshot()
	if err != nil {
		return nil, fmt.Errorf("read snapshot: %w", err)
	}
	return s, nil
}

// whole turns the end of the file into an unexpected one.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

type decoder struct {
	r        *bufio.Reader
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
		case recordThread:
			err = d.thread(raw)
		case recordCopied:
			err = d.copied(raw)
		case recordRange:
			err = d.memoryRange(raw, &d.out.Memory)
		case recordWhole:
			err = d.memoryRange(raw, &d.out.Whole)
		case recordEnd:
			return nil
		default:
			err = &FormatError{"record", fmt.Errorf("kind %q is not known", kind)}
		}
		if err == nil {
			err = withinCounts(len(d.mappings), len(d.out.Threads), d.ranges)
		}
		if err != nil {
			return err
		}
	}
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
	if d.json += n; n > maxRecord || d.json > maxJSON {
		return 0, &LimitError{"bytes of JSON", d.json, maxJSON}
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
