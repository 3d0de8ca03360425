package v8

import (
	"encoding/binary"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/v8/heap"
)

// typeCache remembers the types of maps, which do not change while a process lives: maps are not moved.
type typeCache struct {
	known map[uint64]uint16 // by tagged pointer
	meta  map[uint64]bool   // maps of maps
}

const (
	// maxTypes bounds the maps that are remembered.
	maxTypes = 1 << 14
	// mapHead is how much of a map is read: its own map, and the type.
	mapHead = 16
)

// of returns the instance type that objects with that map have, false if it is no map.
func (c *typeCache) of(l *heap.Layout, tagged uint64, m mem.Reader) (uint16, bool) {
	if t, ok := c.known[tagged]; ok {
		return t, true
	}
	if !isHeapPointer(tagged) {
		return 0, false
	}
	own, t, ok := readMap(l, tagged, m)
	if !ok || !c.isMeta(l, own, m) {
		return 0, false
	}
	if c.known == nil || len(c.known) >= maxTypes {
		c.known = map[uint64]uint16{}
	}
	c.known[tagged] = t
	return t, true
}

// isMeta reports whether tagged is the map of maps: its own map is one, too.
func (c *typeCache) isMeta(l *heap.Layout, tagged uint64, m mem.Reader) bool {
	if c.meta[tagged] {
		return true
	}
	own, t, ok := readMap(l, tagged, m)
	if !ok || t != l.Types.Map {
		return false
	}
	if _, t, ok := readMap(l, own, m); !ok || t != l.Types.Map {
		return false
	}
	if c.meta == nil || len(c.meta) >= maxTypes {
		c.meta = map[uint64]bool{}
	}
	c.meta[tagged] = true
	return true
}

// readMap reads the map and the type of the map at tagged.
func readMap(l *heap.Layout, tagged uint64, m mem.Reader) (own uint64, t uint16, ok bool) {
	var b [mapHead]byte
	if !isHeapPointer(tagged) {
		return 0, 0, false
	}
	if _, err := m.ReadMem(b[:], mem.Addr(tagged-1)); err != nil {
		return 0, 0, false
	}
	return order.Uint64(b[:]), binary.LittleEndian.Uint16(b[l.Map.InstanceType:]), true
}
