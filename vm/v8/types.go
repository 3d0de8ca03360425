package v8

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/v8/heap"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// typeCache remembers the types of maps, which are not moved. One that is freed may leave its place to another: so a
// type says what may be at an address, and what is read there is checked besides.
type typeCache struct {
	known sites.Recent[uint64, uint16] // by tagged pointer
	meta  sites.Recent[uint64, bool]   // maps of maps
}

const (
	// maxTypes bounds the maps that are remembered, bytes.
	maxTypes = 2 << 20
	// mapHead is how much of a map is read: its own map, and the type.
	mapHead = 16
)

func newTypeCache(b *work.Budget) typeCache {
	return typeCache{sites.NewRecent[uint64, uint16](b, maxTypes), sites.NewRecent[uint64, bool](b, maxTypes/16)}
}

// of returns the instance type that objects with that map have, false if it is no map.
func (c *typeCache) of(l *heap.Layout, tagged uint64, v *view.View) (uint16, bool) {
	if t, ok := c.known.Get(tagged); ok {
		return t, true
	}
	own, t, ok := readMap(l, tagged, v)
	if !ok || !c.isMeta(l, own, v) {
		return 0, false
	}
	c.known.Keep(tagged, t, 0)
	return t, true
}

// isMeta reports whether tagged is the map of maps: its own map is one, too.
func (c *typeCache) isMeta(l *heap.Layout, tagged uint64, v *view.View) bool {
	if meta, _ := c.meta.Get(tagged); meta {
		return true
	}
	own, t, ok := readMap(l, tagged, v)
	if !ok || t != l.Types.Map {
		return false
	}
	if _, t, ok := readMap(l, own, v); !ok || t != l.Types.Map {
		return false
	}
	c.meta.Keep(tagged, true, 0)
	return true
}

// readMap reads the map and the type of the map at tagged.
func readMap(l *heap.Layout, tagged uint64, v *view.View) (own uint64, t uint16, ok bool) {
	var b [mapHead]byte
	if !heap.MayRefer(tagged) {
		return 0, 0, false
	}
	if _, err := v.ReadMem(b[:], mem.Addr(tagged-1)); err != nil {
		return 0, 0, false
	}
	return order.Uint64(b[:]), order.Uint16(b[l.Map.InstanceType:]), true
}
