//go:build linux

package tracer

import (
	"bytes"

	"github.com/fpstack/fpstack/maps"
)

// The mappings are read while all is prepared, once more just before the stop, and again just behind it, as
// reading them takes too long to keep threads stopped. Meanwhile the process may have mapped and unmapped libraries:
// code that all three show alike is what the threads were in, unless it changed twice between two of them; of the
// rest it is not known.

// readMaps reads the mappings of the program that is stopped into buf, while it runs. The result is empty if it
// has ended, or if these may be another program's.
func (s *stop) readMaps(buf []byte) []byte {
	text, err := s.p.mapsText(buf)
	if err != nil || s.memory.replaced(s.table.All()[0].Start) {
		return nil
	}
	return text
}

// tables returns the mappings that were read last, which are nearest to the stop, and where they show
// other code than those before them.
func (s *stop) tables() (*maps.Table, maps.Spans) {
	table, text := s.table, s.first
	var changed maps.Spans
	for _, next := range [][]byte{s.text, s.again} {
		if len(next) == 0 || bytes.Equal(next, text) {
			continue
		}
		later, err := s.p.parseMaps(next)
		if err != nil {
			continue
		}
		changed = changed.Union(maps.ChangedCode(table, later))
		table, text = later, next
	}
	return table, changed
}
