package waits

import (
	"encoding/binary"
	"time"

	"github.com/fpstack/fpstack/mem"
)

// Line is the unit in which memory is read: so many bytes at a multiple of that. No line crosses a page.
const Line = 64

// Memory is the lines of a process's memory that were read, each once. The zero value has none.
type Memory struct {
	lines map[mem.Addr]line
}

// line is one of them.
type line struct {
	data *[Line]byte // nil: it cannot be read
	at   time.Time   // before it was read
}

// Keep keeps a line that was read after the moment at; b is nil if it cannot be read. A line that was kept before is
// replaced.
func (m *Memory) Keep(addr mem.Addr, b *[Line]byte, at time.Time) {
	if m.lines == nil {
		m.lines = map[mem.Addr]line{}
	}
	m.lines[addr] = line{b, at}
}

// patch replaces what was read of the size bytes at addr by what r has of them.
func (m *Memory) patch(addr mem.Addr, size int, r mem.Range) {
	end := addr + mem.Addr(size)
	for start := addr &^ (Line - 1); start < end && end > addr; start += Line {
		have, tried := m.lines[start]
		if !tried || have.data == nil {
			continue
		}
		fresh := *have.data
		for i := range fresh {
			if at := start + mem.Addr(i); at >= addr && at < end {
				if b, ok := r.Bytes(at, 1); ok {
					fresh[i] = b[0]
				}
			}
		}
		m.lines[start] = line{&fresh, have.at}
	}
}

// readAt is the moment before the line of addr was read, zero if it was not.
func (m *Memory) readAt(addr mem.Addr) time.Time { return m.lines[addr&^(Line-1)].at }

// look is what is known of some bytes.
type look uint8

const (
	unread look = iota // nobody has tried
	unreadable
	known
)

// bytes copies the bytes at addr into b.
func (m *Memory) bytes(b []byte, addr mem.Addr) look {
	found := known
	for at := addr; at-addr < mem.Addr(len(b)); {
		start := at &^ (Line - 1)
		have, tried := m.lines[start]
		switch {
		case !tried:
			return unread
		case have.data == nil:
			found = unreadable
		default:
			copy(b[at-addr:], have.data[at-start:])
		}
		at = start + Line
	}
	return found
}

func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
