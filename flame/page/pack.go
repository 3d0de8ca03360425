package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// pack writes the data block: base64 of gzip of the bytes below. Numbers are unsigned
// LEB128, at most 2^53 unless a sum of values is.
//
//	head      length, JSON
//	modules   number, strings
//	files     number, strings
//	frames    names as strings; kind*shades+shade, plus waitsBit, a byte each; module+1, file+1 (0 for
//	          none); lowest line, highest minus lowest line: column after column
//	tree      frame and number of callees of each node in preorder
//	smaller   number of grey nodes; step to each, and how many frames it stands for
//	lists     of each: task+1, 1 for the older side, number of nodes; steps from node to
//	          node; then for each type one value a node
//	runs      of each: task step, node, nanoseconds since the end of the task's last one,
//	          and for how long
//	sources   length, JSON; only if the head says that there are some
//
// A module or file that stands for several joins their paths by line ends, of which a path that was cleaned has none.
// Strings are sorted and front-coded: length of what is shared with the one before, length
// of the rest, the rest.
func (g *graph) pack(w io.Writer) error {
	out := base64.NewEncoder(base64.StdEncoding, w)
	zip := gzip.NewWriter(out)
	e := encoder{}
	js, err := json.Marshal(&g.head)
	if err != nil {
		return err
	}
	e.num(uint64(len(js)))
	e.Write(js)
	e.frames(g.places)
	for _, part := range []func(*encoder){g.packTree, g.packLists, g.packRuns} {
		part(&e)
		if _, err := zip.Write(e.Bytes()); err != nil {
			return err
		}
		e.Reset()
	}
	if g.listing != nil {
		if js, err = json.Marshal(g.listing); err != nil {
			return err
		}
		e.num(uint64(len(js)))
		e.Write(js)
		if _, err := zip.Write(e.Bytes()); err != nil {
			return err
		}
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return out.Close()
}

// waitsBit marks a frame in which a thread waits.
const waitsBit = 0x80

type encoder struct{ bytes.Buffer }

func (e *encoder) num(v uint64) {
	if v < 0x80 {
		e.WriteByte(byte(v))
		return
	}
	var b [binary.MaxVarintLen64]byte
	e.Write(b[:binary.PutUvarint(b[:], v)])
}

func (e *encoder) strings(sorted []string) {
	before := ""
	for _, s := range sorted {
		shared := 0
		for shared < len(s) && shared < len(before) && s[shared] == before[shared] {
			shared++
		}
		e.num(uint64(shared))
		e.num(uint64(len(s) - shared))
		e.WriteString(s[shared:])
		before = s
	}
}

// dictionary writes the distinct strings that of gives and returns the number of each, 0
// for the empty one.
func (e *encoder) dictionary(places []place, of func(*place) string) map[string]uint64 {
	numbers := map[string]uint64{"": 0}
	var sorted []string
	for i := range places {
		if s := of(&places[i]); s != "" {
			sorted = append(sorted, s)
		}
	}
	slices.SortFunc(sorted, strings.Compare)
	sorted = slices.Compact(sorted)
	for i, s := range sorted {
		numbers[s] = uint64(i) + 1
	}
	e.num(uint64(len(sorted)))
	e.strings(sorted)
	return numbers
}

func (e *encoder) frames(places []place) {
	modules := e.dictionary(places, func(p *place) string { return strings.Join(p.modules, "\n") })
	files := e.dictionary(places, func(p *place) string { return strings.Join(p.files, "\n") })
	names := make([]string, len(places))
	for i := range places {
		names[i] = places[i].name
	}
	e.strings(names)
	for i := range places {
		look := byte(int(places[i].kind)*shades + places[i].shade)
		if places[i].waits {
			look |= waitsBit
		}
		e.WriteByte(look)
	}
	columns := []func(*place) uint64{
		func(p *place) uint64 { return modules[strings.Join(p.modules, "\n")] },
		func(p *place) uint64 { return files[strings.Join(p.files, "\n")] },
		func(p *place) uint64 { return uint64(p.low) },
		func(p *place) uint64 { return uint64(p.high - p.low) },
	}
	for _, column := range columns {
		for i := range places {
			e.num(column(&places[i]))
		}
	}
}

func (g *graph) packTree(e *encoder) {
	callees := make([]uint32, g.tree.Len())
	greys := 0
	for n := 1; n < len(callees); n++ {
		callees[g.tree.Parent(profile.NodeID(n))]++
		if g.smaller[n] > 0 {
			greys++
		}
	}
	for n, count := range callees {
		f := profile.FrameID(rootFrame)
		if n > 0 {
			f = g.tree.Frame(profile.NodeID(n))
		}
		e.num(uint64(f))
		e.num(uint64(count))
	}
	e.num(uint64(greys))
	last := 0
	for n, count := range g.smaller {
		if count > 0 {
			e.num(uint64(n - last))
			e.num(uint64(count))
			last = n
		}
	}
}

func (g *graph) packLists(e *encoder) {
	types := len(g.head.Types)
	for _, l := range g.lists {
		e.num(uint64(l.task + 1))
		if l.old {
			e.num(1)
		} else {
			e.num(0)
		}
		e.num(uint64(len(l.nodes)))
		last := profile.NodeID(0)
		for _, n := range l.nodes {
			e.num(uint64(n - last))
			last = n
		}
		for k := range types {
			for i := range l.nodes {
				e.num(uint64(l.values[i*types+k]))
			}
		}
	}
}

func (g *graph) packRuns(e *encoder) {
	task, end := -1, int64(0)
	for _, r := range g.runs {
		if r.Task != task {
			end = 0
		}
		e.num(uint64(r.Task - task))
		e.num(uint64(r.Stack))
		e.num(uint64(max(0, int64(r.At)-end)))
		e.num(uint64(max(0, r.For)))
		task, end = r.Task, max(int64(r.At), end)+max(0, int64(r.For))
	}
}
