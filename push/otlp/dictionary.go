package otlp

import (
	"errors"
	"maps"
	"math"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/push/wire"
)

// dictionary is the tables that all profiles of a request share. Index 0 of each is the zero value.
type dictionary struct {
	mappings, locations, functions, links, strings, attributes, stacks table
}

// table is one table: its encoded entries, and where each is.
type table struct {
	rows  []string
	at    map[string]int32
	bytes int // of all rows, with what says how long each is
}

// newTable makes a table whose entry 0 is zero, the encoding of the zero value.
func newTable() table {
	return table{rows: []string{""}, at: map[string]int32{"": 0}, bytes: 1 + wire.LengthSize(0)}
}

// add gives the index of row.
func (t *table) add(row []byte) int32 {
	if i, ok := t.at[string(row)]; ok {
		return i
	}
	if len(t.rows) > math.MaxInt32 {
		return 0
	}
	i := int32(len(t.rows))
	t.rows = append(t.rows, string(row))
	t.at[string(row)] = i
	t.bytes += 1 + wire.LengthSize(len(row))
	return i
}

// cut forgets all rows but the first so many.
func (t *table) cut(rows int) {
	for _, row := range t.rows[rows:] {
		delete(t.at, row)
		t.bytes -= 1 + wire.LengthSize(len(row))
	}
	t.rows = t.rows[:rows]
}

func newDictionary() *dictionary {
	return &dictionary{newTable(), newTable(), newTable(), newTable(), newTable(), newTable(), newTable()}
}

// all are the tables by their field numbers, from 1 on. That of links has the zero value alone.
func (d *dictionary) all() []*table {
	return []*table{&d.mappings, &d.locations, &d.functions, &d.links, &d.strings, &d.attributes, &d.stacks}
}

func (d *dictionary) lengths() (rows []int) {
	for _, t := range d.all() {
		rows = append(rows, len(t.rows))
	}
	return rows
}

func (d *dictionary) cut(lengths []int) {
	for i, t := range d.all() {
		t.cut(lengths[i])
	}
}

func (d *dictionary) size() (n int) {
	for _, t := range d.all() {
		n += t.bytes
	}
	return n
}

func (d *dictionary) text(s string) int64 { return int64(d.strings.add([]byte(s))) }

// attribute adds a KeyValueAndUnit with a value that is a string.
func (d *dictionary) attribute(key, value string) int32 {
	row := wire.Int(nil, 1, d.text(key))
	return d.attributes.add(wire.Element(row, 2, Attribute{Value: value}.anyValue()))
}

// encode encodes the tables as ProfilesDictionary.
func (d *dictionary) encode() (b []byte) {
	for i, t := range d.all() {
		for _, row := range t.rows {
			b = wire.Element(b, i+1, row)
		}
	}
	return b
}

var (
	errType = errors.New("it has no such value")
	errID   = errors.New("its id is zero")
)

// profile encodes p as Profile; nil if it has no sample.
func (d *dictionary) profile(p *Profile) ([]byte, error) {
	if err := p.Of.CheckValid(); err != nil {
		return nil, err
	}
	if p.Type < 0 || p.Type >= len(p.Of.SampleType) {
		return nil, errType
	}
	if p.ID == [16]byte{} {
		return nil, errID
	}
	places := d.places(p.Of)
	var samples []byte
	for _, s := range p.Of.Sample {
		if v := s.Value[p.Type]; v != 0 {
			samples = wire.Element(samples, 2, d.sample(s, v, places))
		}
	}
	if samples == nil {
		return nil, nil
	}
	b := wire.Element(nil, 1, d.valueType(p.Of.SampleType[p.Type]))
	b = append(b, samples...)
	b = wire.Fixed64(b, 3, uint64(p.Of.TimeNanos))
	b = wire.Int(b, 4, p.Of.DurationNanos)
	b = wire.Element(b, 5, d.valueType(p.periodType()))
	b = wire.Int(b, 6, max(p.Of.Period, 1))
	return wire.String(b, 7, p.ID[:]), nil
}

// periodType names the profile in Pyroscope, and has to be there for Parca: it is the type of the value, as the
// values are times and the period is one.
func (p *Profile) periodType() *pprof.ValueType {
	if t := p.Of.SampleType[p.Type]; t.Unit == "nanoseconds" {
		return t
	}
	if p.Of.PeriodType != nil {
		return p.Of.PeriodType
	}
	return &pprof.ValueType{}
}

func (d *dictionary) valueType(t *pprof.ValueType) []byte {
	return wire.Int(wire.Int(nil, 1, d.text(t.Type)), 2, d.text(t.Unit))
}

// sample encodes a Sample with one value, and no time of its own: a store makes a row of each.
func (d *dictionary) sample(s *pprof.Sample, value int64, places map[*pprof.Location]int32) []byte {
	stack := make([]int32, len(s.Location))
	for i, l := range s.Location {
		stack[i] = places[l]
	}
	b := wire.Int(nil, 1, int64(d.stacks.add(wire.Packed(nil, 1, stack))))
	var attributes []int32
	for _, label := range slices.Sorted(maps.Keys(Labels)) {
		if values := s.Label[label]; len(values) > 0 {
			attributes = append(attributes, d.attribute(Labels[label], values[0]))
		}
	}
	b = wire.Packed(b, 2, attributes)
	return wire.Packed(b, 4, []int64{value})
}

// places adds the locations of p, and says which each became.
func (d *dictionary) places(p *pprof.Profile) map[*pprof.Location]int32 {
	mappings := make(map[*pprof.Mapping]int32, len(p.Mapping))
	for _, m := range p.Mapping {
		mappings[m] = d.mapping(m)
	}
	places := make(map[*pprof.Location]int32, len(p.Location))
	for _, l := range p.Location {
		b := wire.Int(nil, 1, int64(mappings[l.Mapping]))
		b = wire.Uint(b, 2, l.Address)
		for i := range l.Line {
			b = wire.Element(b, 3, d.line(&l.Line[i]))
		}
		if kind := frameType(l.Mapping); kind != "" {
			b = wire.Packed(b, 4, []int32{d.attribute("profile.frame.type", kind)})
		}
		places[l] = d.locations.add(b)
	}
	return places
}

func (d *dictionary) line(l *pprof.Line) []byte {
	var function int32
	if f := l.Function; f != nil {
		row := wire.Int(nil, 1, d.text(f.Name))
		row = wire.Int(row, 2, d.text(f.SystemName))
		row = wire.Int(row, 3, d.text(f.Filename))
		function = d.functions.add(wire.Int(row, 4, f.StartLine))
	}
	b := wire.Int(nil, 1, int64(function))
	return wire.Int(wire.Int(b, 2, l.Line), 3, l.Column)
}

func (d *dictionary) mapping(m *pprof.Mapping) int32 {
	b := wire.Uint(nil, 1, m.Start)
	b = wire.Uint(b, 2, m.Limit)
	b = wire.Uint(b, 3, m.Offset)
	b = wire.Int(b, 4, d.text(m.File))
	if m.BuildID != "" {
		b = wire.Packed(b, 5, []int32{d.attribute(buildID(m.BuildID), m.BuildID)})
	}
	return d.mappings.add(b)
}

// buildID is the attribute for an id: that of the linker, in hex, or of Go, which has slashes.
func buildID(id string) string {
	for _, c := range id {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return "process.executable.build_id.go"
		}
	}
	return "process.executable.build_id.gnu"
}
