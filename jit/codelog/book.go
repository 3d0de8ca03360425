package codelog

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/work"
)

// Record is a function as a file says it: code at [Start, End).
type Record struct {
	Start, End mem.Addr
	// Time is when the code was put there, by CLOCK_MONOTONIC of the process; 0 if that is not known: then it was
	// before any sample.
	Time time.Duration
	Name []byte // any bytes; a Book keeps a copy
	// Code is the [Digest] of what the file says to be there, 0 if it says nothing.
	Code uint64
	// Detail is whatever leads the Parser to lines of the record, 0 for none.
	Detail int64
}

// Bounds of a Book.
const (
	maxRecords = 2 << 20
	maxNames   = 64 << 20 // bytes of names together
	maxName    = 4 << 10
)

// Book keeps what one file says. What is said later of an address covers what was said before; where records have times
// both are kept, so that a sample finds what was true at its own. Its zero value is ready. Any goroutine may use it.
type Book struct {
	mu      sync.Mutex
	spans   index
	records []record
	names   []byte
	counts
	budget *work.Budget // nil: nothing is bounded but by the constants above
	held   int64        // bytes of it
	turns  uint32       // how often records were numbered again
	limit  int          // of records, 0: maxRecords
}

// record is a Record with its name in Book.names.
type record struct {
	start, end mem.Addr
	time       time.Duration
	code       uint64
	detail     int64
	name       uint32
	length     uint16
}

// counts are what a person should know of a file.
type counts struct {
	malformed int // lines or records that are not understood
	cut       int // names that were cut
	stale     int // records of an earlier process
	left      int // records for which there is no room
	skipped   int64
}

// String is empty if there is nothing to know.
func (c *counts) String() string {
	var out []string
	for _, part := range []struct {
		n    int64
		what string
	}{{int64(c.malformed), "not understood"}, {int64(c.cut), "names cut"}, {int64(c.stale), "of an earlier process"},
		{int64(c.left), "without room"}, {c.skipped, "bytes skipped"}} {
		if part.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(out, ", ")
}

// Summary words what a person should know, "" for nothing.
func (b *Book) Summary() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts.String()
}

// Malformed counts a line or a record that is not understood.
func (b *Book) Malformed() { b.count(func(c *counts) { c.malformed++ }) }

// Stale counts a record of an earlier process.
func (b *Book) Stale() { b.count(func(c *counts) { c.stale++ }) }

// Skipped counts bytes of the file that were not read.
func (b *Book) Skipped(n int64) { b.count(func(c *counts) { c.skipped += n }) }

func (b *Book) count(f func(*counts)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.counts)
}

// Add keeps r. An empty range is ignored. Where there is no room for it nobody has its addresses: what was there before
// is there no longer.
func (b *Book) Add(r Record) {
	if r.End <= r.Start {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(r.Name) > maxName {
		r.Name = r.Name[:maxName]
		b.cut++
	}
	if !b.room(len(r.Name)) {
		b.left++
		b.spans.clear(r.Start, r.End)
		return
	}
	if r.Time != 0 && b.spans.under == nil {
		b.spans.under = map[int32][]span{}
	}
	b.spans.put(span{r.Start, r.End, int32(len(b.records))})
	b.records = append(b.records, record{r.Start, r.End, r.Time, r.Code, r.Detail, uint32(len(b.names)),
		uint16(len(r.Name))})
	b.names = append(b.names, r.Name...)
}

// Move says that the code at from was put to a function's new place, at that time. What is there then is not what it
// was: calls go as far as the distance has become.
func (b *Book) Move(from, to mem.Addr, size uint64, at time.Duration) {
	b.mu.Lock()
	old, ok := b.at(from, 0)
	var r Record
	if ok {
		r = Record{Time: at, Name: append([]byte(nil), b.name(old)...), Detail: b.records[old].detail}
	}
	b.mu.Unlock()
	if !ok || to+mem.Addr(size) < to || from+mem.Addr(size) < from {
		b.Malformed()
		return
	}
	b.Add(Record{Start: from, End: from + mem.Addr(size), Time: at}) // nameless: it is there no longer
	r.Start, r.End = to, to+mem.Addr(size)
	b.Add(r)
}

// recordBytes is about what a record takes with its span.
const recordBytes = 88

// room takes room for one more record, and reports whether there is any. Before there is none, those are forgotten that
// others have covered.
func (b *Book) room(name int) bool {
	limit := maxRecords
	if b.limit > 0 {
		limit = b.limit
	}
	hold := func() bool {
		n := recordBytes + int64(name)
		if len(b.records) >= limit || len(b.names)+name > maxNames || !b.budget.Hold(n) {
			return false
		}
		b.held += n
		return true
	}
	if hold() {
		return true
	}
	if b.spans.count >= len(b.records)/2 {
		return false
	}
	b.forget()
	return hold()
}

// forget drops the records that have no address any more.
func (b *Book) forget() {
	old := Book{spans: b.spans, records: b.records, names: b.names}
	b.empty()
	if old.spans.under != nil {
		b.spans.under = map[int32][]span{}
	}
	number := map[int32]int32{}
	for s := range old.spans.all {
		n, ok := number[s.record]
		if !ok {
			r := old.records[s.record]
			name := old.name(s.record)
			r.name, n = uint32(len(b.names)), int32(len(b.records))
			b.names = append(b.names, name...)
			b.records = append(b.records, r)
			number[s.record] = n
		}
		b.spans.put(span{s.start, s.end, n})
	}
	if n := int64(len(b.records))*recordBytes + int64(len(b.names)); b.budget.Hold(n) { // as there was more
		b.held = n
	} else {
		b.empty()
	}
}

// reset forgets all.
func (b *Book) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.empty()
}

// empty forgets all, and gives back what it took.
func (b *Book) empty() {
	b.spans, b.records, b.names = index{}, nil, nil
	b.turns++
	b.budget.Release(b.held)
	b.held = 0
}

func (b *Book) name(record int32) []byte {
	r := &b.records[record]
	return b.names[r.name : r.name+uint32(r.length)]
}

// at returns the record that has address a at a time, 0 for the newest.
func (b *Book) at(a mem.Addr, when time.Duration) (int32, bool) {
	s, ok := b.spans.find(a)
	for ok && when != 0 && b.records[s.record].time > when {
		s, ok = holding(b.spans.under[s.record], a) // of an earlier record: this ends
	}
	if !ok || b.records[s.record].length == 0 {
		return 0, false
	}
	return s.record, true
}

// holding returns the span of list, which is ascending, that holds a.
func holding(list []span, a mem.Addr) (span, bool) {
	i := sort.Search(len(list), func(i int) bool { return list[i].end > a })
	if i == len(list) || list[i].start > a {
		return span{}, false
	}
	return list[i], true
}

// Find returns the record that has address a at a time, 0 for the newest, and its number, which no other record ever
// has. Name is a copy.
func (b *Book) Find(a mem.Addr, when time.Duration) (r Record, number uint64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, ok := b.at(a, when)
	if !ok {
		return Record{}, 0, false
	}
	return b.recordOf(n), uint64(b.turns)<<32 | uint64(n), true
}

func (b *Book) recordOf(n int32) Record {
	at := &b.records[n]
	return Record{at.start, at.end, at.time, append([]byte(nil), b.name(n)...), at.code, at.detail}
}

// Each gives yield what there is now, by address, each record once or, where another lies in its middle, piece by
// piece.
func (b *Book) Each(yield func(start, end mem.Addr, name string) bool) {
	b.mu.Lock()
	var all []Record
	for s := range b.spans.all {
		if b.records[s.record].length > 0 {
			r := b.recordOf(s.record)
			r.Start, r.End = s.start, s.end
			all = append(all, r)
		}
	}
	b.mu.Unlock()
	for _, r := range all {
		if !yield(r.Start, r.End, string(r.Name)) {
			return
		}
	}
}
