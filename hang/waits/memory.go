package waits

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/mem"
)

// Line is the unit in which memory is read: so many bytes at a multiple of that. No line crosses a page.
const Line = 64

// Memory is the lines of a process's memory that were read, each once. The zero value has none.
type Memory struct {
	lines map[mem.Addr]*[Line]byte // nil: it cannot be read
}

// Keep keeps a line that was read; b is nil if it cannot be read. Of a line that was kept before the last is kept.
func (m *Memory) Keep(line mem.Addr, b *[Line]byte) {
	if m.lines == nil {
		m.lines = map[mem.Addr]*[Line]byte{}
	}
	m.lines[line] = b
}

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
		line := at &^ (Line - 1)
		have, tried := m.lines[line]
		switch {
		case !tried:
			return unread
		case have == nil:
			found = unreadable
		default:
			copy(b[at-addr:], have[at-line:])
		}
		at = line + Line
	}
	return found
}

func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
