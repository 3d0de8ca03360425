// Package sourcemap reads source maps, which say where in TypeScript, or in files that were packed into one, a place of
// a JavaScript file comes from.
//
// [Parse] reads one map, [Files] finds it by the comment at the end of the JavaScript file, beside that file or inside
// of it. The caller opens files, in the view of the process that has loaded them, while nothing is stopped.
//
// Files are as they are now: one that was built again after the process had loaded it gives wrong lines. Nothing is
// fetched from the network. What a map holds is somebody's text: its size, lines and segments are bounded, and names of
// sources may hold any bytes.
//
// Format: ECMA-426, "Source map format specification", revision 3.
package sourcemap

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/work"
)

// Bounds of one map.
const (
	maxSize     = 64 << 20 // bytes
	maxSegments = 4 << 20
	maxSources  = 1 << 16
	maxSections = 1 << 10
	maxLine     = 1 << 24 // lines and columns of a file
)

// ErrFormat says that a file is no source map of revision 3.
var ErrFormat = errors.New("it is no source map of version 3")

// Map is one source map. It does not change, so goroutines may share it.
type Map struct {
	sources []string
	lines   [][]segment // by line of the generated file, from 0
}

// segment is where the text of a generated line from a column on comes from. All numbers are from 0.
type segment struct {
	column int32
	source int32 // -1 for text that comes from nowhere
	line   int32 // of the source
	from   int32 // column of the source
}

// Place is a place in a source: line and column from 1, columns in UTF-16 units.
type Place struct {
	Source       string
	Line, Column int
}

// Find is where the text at a line and column of the generated file, from 1, comes from; false if the map does not say.
func (m *Map) Find(line, column int) (Place, bool) {
	if line < 1 || line > len(m.lines) || column < 1 {
		return Place{}, false
	}
	row := m.lines[line-1]
	at, found := slices.BinarySearchFunc(row, column-1, func(s segment, c int) int { return int(s.column) - c })
	if !found {
		at--
	} else {
		for at+1 < len(row) && row[at+1].column == row[at].column { // ends: at grows
			at++ // the last of several at one column counts
		}
	}
	if at < 0 || row[at].source < 0 {
		return Place{}, false
	}
	s := row[at]
	return Place{m.sources[s.source], int(s.line) + 1, int(s.from) + 1}, true
}

// document is the JSON of a map, or of several ones in sections.
type document struct {
	Version    json.Number `json:"version"`
	SourceRoot string      `json:"sourceRoot"`
	Sources    []*string   `json:"sources"`
	Mappings   string      `json:"mappings"`
	Sections   []struct {
		Offset struct{ Line, Column int }
		Map    *document
	} `json:"sections"`
}

// Parse reads the map in data, which takes as many bytes of b again, and some for each segment. Names of sources are
// relative to base, the path of the map, unless they have a scheme.
//
// It fails with [ErrFormat], or with the refusal of b.
func Parse(data []byte, base string, b *work.Budget) (*Map, error) {
	if len(data) > maxSize {
		return nil, fmt.Errorf("%w: it has %d bytes, more than %d", ErrFormat, len(data), maxSize)
	}
	const jsonCost = 8 // steps a byte
	if !b.Spend(jsonCost * int64(len(data))) {
		return nil, b.Refusal()
	}
	data = []byte(strings.TrimPrefix(string(data), ")]}'")) // what keeps it from being run as a script
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, plain(err))
	}
	p := parser{m: &Map{}, budget: b, base: base}
	if len(d.Sections) > maxSections {
		return nil, fmt.Errorf("%w: it has %d sections", ErrFormat, len(d.Sections))
	}
	for i := range d.Sections {
		s := &d.Sections[i]
		if s.Map == nil || s.Offset.Line < 0 || s.Offset.Line > maxLine || s.Offset.Column < 0 ||
			s.Offset.Column > maxLine || len(s.Map.Sections) > 0 {
			return nil, fmt.Errorf("%w: section %d", ErrFormat, i)
		}
		if err := p.add(s.Map, s.Offset.Line, s.Offset.Column); err != nil {
			return nil, err
		}
	}
	if len(d.Sections) == 0 {
		if err := p.add(&d, 0, 0); err != nil {
			return nil, err
		}
	}
	p.sort()
	return p.m, nil
}

// plain is err without the text that it may quote: the file may be another's secret.
func plain(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("its JSON ends or breaks at byte %d", syntax.Offset)
	}
	return errors.New("its JSON has other types")
}

type parser struct {
	m        *Map
	budget   *work.Budget
	base     string
	segments int
}

// add adds a map whose text begins at a line and column of the generated file, from 0.
func (p *parser) add(d *document, line, column int) error {
	if d.Version != "3" {
		return fmt.Errorf("%w: its version is %.16q", ErrFormat, string(d.Version))
	}
	first := len(p.m.sources)
	if first+len(d.Sources) > maxSources {
		return fmt.Errorf("%w: it has more than %d sources", ErrFormat, maxSources)
	}
	for _, s := range d.Sources {
		name := ""
		if s != nil {
			name = join(p.base, d.SourceRoot, *s)
		}
		p.m.sources = append(p.m.sources, name)
	}
	v := vlq{text: d.Mappings}
	at := segment{} // numbers are relative to those before
	start := column
	for len(v.text) > 0 { // ends: each round takes a byte or more
		switch v.text[0] {
		case ';':
			v.text = v.text[1:]
			line, start, at.column = line+1, 0, 0
			continue
		case ',':
			v.text = v.text[1:]
			continue
		}
		n := v.segment(&at)
		if v.bad || at.column < 0 || n > 1 && (at.source < 0 || int(at.source) >= len(d.Sources) || at.line < 0 ||
			at.from < 0) {
			return fmt.Errorf("%w: its mappings are damaged", ErrFormat)
		}
		s := segment{column: at.column + int32(start), source: -1}
		if n > 1 {
			s.source, s.line, s.from = at.source+int32(first), at.line, at.from
		}
		if err := p.keep(line, s); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps a segment of a line.
func (p *parser) keep(line int, s segment) error {
	if p.segments++; p.segments > maxSegments || line > maxLine {
		return fmt.Errorf("%w: it has more than %d segments or %d lines", ErrFormat, maxSegments, maxLine)
	}
	const cost = 24 // bytes of a segment and of its line
	if more := line + 1 - len(p.m.lines); more > 0 {
		if !p.budget.Hold(int64(cost * more)) {
			return work.ErrMemory
		}
		p.m.lines = append(p.m.lines, make([][]segment, more)...)
	}
	if !p.budget.Hold(cost) {
		return work.ErrMemory
	}
	p.m.lines[line] = append(p.m.lines[line], s)
	return nil
}

// sort puts the segments of each line in order; nearly all maps have them so.
func (p *parser) sort() {
	for _, row := range p.m.lines {
		byColumn := func(a, b segment) int { return int(a.column - b.column) }
		if !slices.IsSortedFunc(row, byColumn) {
			slices.SortStableFunc(row, byColumn)
		}
	}
}

// join is the name of a source as seen from the map at base. A URL of files is a path; others, as webpack://, are shown
// as they are.
func join(base, root, name string) string {
	if root != "" && !hasScheme(name) && !path.IsAbs(name) {
		name = strings.TrimSuffix(root, "/") + "/" + name
	}
	if rest, ok := strings.CutPrefix(name, "file://"); ok {
		return path.Clean(rest)
	}
	if hasScheme(name) || path.IsAbs(name) {
		return name
	}
	return path.Join(path.Dir(base), name)
}

// hasScheme reports whether name is a URL.
func hasScheme(name string) bool {
	before, _, ok := strings.Cut(name, ":")
	return ok && before != "" && !strings.ContainsAny(before, "/.")
}

// vlq reads numbers of base64 digits, five bits each, low ones first; the sixth bit says that more follow. The lowest
// bit of the number is its sign.
type vlq struct {
	text string
	bad  bool
}

// digits are those of RFC 4648, section 4.
const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// segment adds the numbers of a segment to at, and returns how many there were.
func (v *vlq) segment(at *segment) (n int) {
	var ignored int32 // the index of a name, which is that of what stands there and not of the function
	for _, to := range []*int32{&at.column, &at.source, &at.line, &at.from, &ignored} {
		if len(v.text) == 0 || v.text[0] == ',' || v.text[0] == ';' {
			break
		}
		sum := int64(*to) + v.number()
		if sum < -1<<31 || sum > maxLine && to != &ignored {
			v.bad = true
		}
		*to = int32(sum)
		n++
	}
	if n == 2 || n == 3 || len(v.text) > 0 && v.text[0] != ',' && v.text[0] != ';' {
		v.bad = true
	}
	return n
}

func (v *vlq) number() int64 {
	var u uint64
	const bits, most = 5, 35
	for shift := 0; shift < most; shift += bits {
		if len(v.text) == 0 {
			break
		}
		d := strings.IndexByte(digits, v.text[0])
		v.text = v.text[1:]
		if d < 0 {
			break
		}
		u |= uint64(d&31) << shift
		if d < 32 {
			if u&1 != 0 {
				return -int64(u >> 1)
			}
			return int64(u >> 1)
		}
	}
	v.bad = true
	return 0
}
