package flame

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/profile"
)

// pprofSample is one sample of the file.
type pprofSample struct {
	profile.Sample
	values []int64
	older  bool // of the older side of a difference
}

// empty says that a sample says nothing: it is left out.
func (s *pprofSample) empty() bool {
	return !slices.ContainsFunc(s.values, func(v int64) bool { return v != 0 })
}

// pprofWho is what samples of equal labels have in common.
type pprofWho struct {
	task  int
	older bool
}

// Fields of profile.proto, each with a length before its bytes: number<<3 | 2.
// Source: google/pprof/proto/profile.proto; protobuf.dev/programming-guides/encoding.
const (
	pprofSampleField   = 2<<3 | 2 // of Profile
	pprofLocationField = 1<<3 | 2 // of Sample, packed
	pprofValueField    = 2<<3 | 2 // of Sample, packed
	pprofLabelField    = 3<<3 | 2 // of Sample
)

var errPprofBytes = errors.New("write pprof: a field has no length")

// write writes everything: the samples behind the rest, one by one. In the rest is one sample
// for each kind of labels, which says how these are encoded.
func (b *pprofBuilder) write(w io.Writer, samples iter.Seq[pprofSample]) error {
	kinds := map[pprofWho]int{}
	var ids []uint64
	for s := range samples {
		if s.empty() {
			continue
		}
		ids = b.appendStack(ids[:0], s.Stack)
		if b.frames += len(ids); b.frames > maxPprofFrames {
			return errPprofSize
		}
		if b.lines < 0 {
			return errPprofLines
		}
		who := pprofWho{s.Task, s.older}
		if _, ok := kinds[who]; !ok {
			kinds[who] = len(b.out.Sample)
			b.out.Sample = append(b.out.Sample, &pprof.Sample{Value: make([]int64, len(b.column)),
				Label: b.labelsOf(who)})
		}
	}
	b.claim()
	if err := b.out.CheckValid(); err != nil {
		return fmt.Errorf("write pprof: %w", err)
	}
	var all bytes.Buffer
	if err := b.out.WriteUncompressed(&all); err != nil {
		return err
	}
	zip := gzip.NewWriter(w)
	labels, err := writeRest(zip, all.Bytes())
	if err != nil {
		return err
	}
	all = bytes.Buffer{}
	var enc pprofEncoder
	for s := range samples {
		if s.empty() {
			continue
		}
		ids = b.appendStack(ids[:0], s.Stack)
		label := labels[kinds[pprofWho{s.Task, s.older}]]
		if _, err := zip.Write(enc.sample(ids, s.values, b.column, label)); err != nil {
			return err
		}
	}
	return zip.Close()
}

// labelsOf returns the labels of a kind.
func (b *pprofBuilder) labelsOf(who pprofWho) map[string][]string {
	labels := map[string][]string{}
	if who.task >= 0 {
		labels = maps.Clone(b.labels[who.task])
	}
	if who.older {
		labels[labelBase] = []string{"true"}
	}
	return labels
}

// writeRest writes the fields of an encoded Profile but for its samples, and returns the encoded
// labels of each of those.
func writeRest(w io.Writer, data []byte) (labels [][]byte, err error) {
	for len(data) > 0 {
		tag, whole, body, err := nextField(data)
		if err != nil {
			return nil, err
		}
		data = data[len(whole):]
		if tag != pprofSampleField {
			if _, err := w.Write(whole); err != nil {
				return nil, err
			}
			continue
		}
		var own []byte
		for len(body) > 0 {
			tag, whole, _, err := nextField(body)
			if err != nil {
				return nil, err
			}
			if tag == pprofLabelField {
				own = append(own, whole...)
			}
			body = body[len(whole):]
		}
		labels = append(labels, own)
	}
	return labels, nil
}

// nextField cuts the first field off: its tag, all its bytes, and those behind its length, none if
// it is a number.
func nextField(data []byte) (tag uint64, whole, body []byte, err error) {
	tag, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, nil, nil, errPprofBytes
	}
	size, m := binary.Uvarint(data[n:])
	switch {
	case m <= 0:
		return 0, nil, nil, errPprofBytes
	case tag&7 == 0: // a number
		return tag, data[:n+m], nil, nil
	case tag&7 != 2 || size > uint64(len(data)-n-m):
		return 0, nil, nil, errPprofBytes
	}
	end := n + m + int(size)
	return tag, data[:end], data[n+m : end], nil
}

// pprofEncoder encodes samples. What it returns is overwritten by the next.
type pprofEncoder struct{ packed, body, out []byte }

// sample encodes one sample as a field of Profile. column says which of values come, in their order.
func (e *pprofEncoder) sample(locations []uint64, values []int64, column []int, labels []byte) []byte {
	e.packed = e.packed[:0]
	for _, id := range locations {
		e.packed = binary.AppendUvarint(e.packed, id)
	}
	e.body = appendField(e.body[:0], pprofLocationField, e.packed)
	e.packed = e.packed[:0]
	for _, k := range column {
		e.packed = binary.AppendUvarint(e.packed, uint64(values[k]))
	}
	e.body = appendField(e.body, pprofValueField, e.packed)
	e.body = append(e.body, labels...)
	e.out = appendField(e.out[:0], pprofSampleField, e.body)
	return e.out
}

// appendField appends a field with a length.
func appendField(b []byte, tag uint64, body []byte) []byte {
	b = binary.AppendUvarint(b, tag)
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...)
}
