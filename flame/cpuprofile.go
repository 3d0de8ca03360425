package flame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// Bounds of ReadCPUProfile.
const (
	maxCPUProfile        = 256 << 20 // bytes: an hour at 5,000 samples a second
	maxCPUProfileNodes   = 1 << 22
	maxCPUProfileSamples = 1 << 26
	maxCPUProfileElement = 16 << 20 // bytes of a node with the list of its children
	maxCPUProfileDepth   = 1 << 16
)

var errCPUProfile = errors.New("read .cpuprofile: not a CPU profile of V8: nodes, samples and timeDeltas are missing")

// cpuProfile is a document as V8 writes it; times are in microseconds.
// Source: Chrome DevTools Protocol, Profiler.Profile.
type cpuProfile struct {
	nodes      []cpuProfileNode
	start, end int64
	samples    []int64 // ids of nodes
	deltas     []int64
}

type cpuProfileNode struct {
	ID        int64 `json:"id"`
	CallFrame struct {
		Function string `json:"functionName"`
		URL      string `json:"url"`
		Line     int    `json:"lineNumber"` // of the function's first line, from 0
	} `json:"callFrame"`
	Children []int64 `json:"children"`
}

// read takes the document apart element by element, so that what is kept is bounded.
func (in *cpuProfile) read(d *jsondoc.Reader) error {
	if err := d.Next(); err != nil {
		return err
	}
	_, err := d.Object(func(name string) error {
		switch name {
		case "nodes":
			return elements(d, &in.nodes, maxCPUProfileNodes)
		case "samples":
			return elements(d, &in.samples, maxCPUProfileSamples)
		case "timeDeltas":
			return elements(d, &in.deltas, maxCPUProfileSamples)
		case "startTime":
			return d.Decode(&in.start)
		case "endTime":
			return d.Decode(&in.end)
		}
		return d.Skip()
	})
	if err == nil {
		err = d.End()
	}
	return err
}

// elements reads a list of at most that many.
func elements[T any](d *jsondoc.Reader, into *[]T, most int) error {
	return d.List(most, func() error {
		var element T
		err := d.Decode(&element)
		*into = append(*into, element)
		return err
	})
}

// isCPUProfile reports whether an object of JSON that begins with text may be one.
func isCPUProfile(text []byte) bool {
	if bytes.Contains(text, []byte(`"schema"`)) {
		return false
	}
	for _, key := range []string{`"callFrame"`, `"timeDeltas"`, `"nodes"`} {
		if bytes.Contains(text, []byte(key)) {
			return true
		}
	}
	return false
}

// ReadCPUProfile reads a CPU profile of V8, as node --cpu-prof and the developer tools of Chrome write it: samples, and
// the time until the next one as wall time. A frame's line is the first of its function. What V8 calls (idle) waits.
//
// It fails if r does, if the document is not one, is inconsistent or larger than 256 MiB, or has more than 4
// million nodes.
func ReadCPUProfile(r io.Reader) (*profile.Profile, error) {
	var in cpuProfile
	d := jsondoc.NewReader(r, jsondoc.Limits{Size: maxCPUProfile, Element: maxCPUProfileElement})
	if err := in.read(d); err != nil {
		return nil, d.Error(".cpuprofile", err)
	}
	switch {
	case len(in.nodes) == 0 || len(in.samples) == 0:
		return nil, errCPUProfile
	case len(in.samples) != len(in.deltas):
		return nil, fmt.Errorf("read .cpuprofile: %d samples and %d timeDeltas", len(in.samples), len(in.deltas))
	}
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime)
	stacks, err := in.stacks(b)
	if err != nil {
		return nil, fmt.Errorf("read .cpuprofile: %w", err)
	}
	if err := in.add(b, stacks); err != nil {
		return nil, fmt.Errorf("read .cpuprofile: %w", err)
	}
	p := b.Profile()
	p.Default = 1
	p.Duration = time.Duration(max(0, microseconds(in.end-in.start)))
	return p, nil
}

// stacks gives the stack of each node by its id. Nodes are a tree, whose root is the thread.
func (in *cpuProfile) stacks(b *profile.Builder) (map[int64]profile.NodeID, error) {
	index, parent := make(map[int64]int, len(in.nodes)), make([]int, len(in.nodes))
	for i := range in.nodes {
		if _, twice := index[in.nodes[i].ID]; twice {
			return nil, fmt.Errorf("node %d comes twice", in.nodes[i].ID)
		}
		index[in.nodes[i].ID], parent[i] = i, -1
	}
	for i := range in.nodes {
		for _, id := range in.nodes[i].Children {
			child, ok := index[id]
			if !ok || parent[child] >= 0 {
				return nil, fmt.Errorf("node %d has a child %d that is not there, or is another's", in.nodes[i].ID, id)
			}
			parent[child] = i
		}
	}
	stacks := make(map[int64]profile.NodeID, len(in.nodes))
	var way []int
	for i := range in.nodes {
		way = way[:0]
		at := i
		for ; at >= 0; at = parent[at] {
			if _, known := stacks[in.nodes[at].ID]; known {
				break
			}
			if way = append(way, at); len(way) > maxCPUProfileDepth {
				return nil, fmt.Errorf("node %d is in a circle, or more than %d calls deep", in.nodes[i].ID,
					maxCPUProfileDepth)
			}
		}
		stack := profile.NodeID(0)
		if at >= 0 {
			stack = stacks[in.nodes[at].ID]
		}
		for k := len(way) - 1; k >= 0; k-- {
			n := &in.nodes[way[k]]
			if parent[way[k]] >= 0 || n.CallFrame.Function != "(root)" {
				stack = b.Child(stack, b.Frame(n.frame()))
			}
			stacks[n.ID] = stack
		}
	}
	return stacks, nil
}

// frame is the function of a node.
func (n *cpuProfileNode) frame() profile.Frame {
	f := profile.Frame{Func: n.CallFrame.Function, Kind: profile.JIT, Module: -1}
	f.File = strings.TrimPrefix(n.CallFrame.URL, "file://")
	if f.File != "" && n.CallFrame.Line >= 0 && n.CallFrame.Line < math.MaxInt32 {
		f.Line = n.CallFrame.Line + 1
	}
	switch {
	case f.Func == "":
		f.Func = "(anonymous)"
	case f.Func == "(idle)":
		f.Kind = profile.Kernel // no code: the thread waits
	case strings.HasPrefix(f.Func, "("): // (program), (garbage collector)
		f.Kind = profile.Native
	}
	return f
}

// add gives each sample the time until the next one, the last one until the end.
func (in *cpuProfile) add(b *profile.Builder, stacks map[int64]profile.NodeID) error {
	var sum int64
	at := in.start
	for i, id := range in.samples {
		stack, ok := stacks[id]
		if !ok {
			return fmt.Errorf("sample %d is of node %d, which is not there", i, id)
		}
		at += in.deltas[i] // may go back by a little: V8 does not sort
		lasts := in.end - at
		if i+1 < len(in.deltas) {
			lasts = in.deltas[i+1]
		}
		ns := microseconds(max(0, lasts))
		if sum += ns; sum < 0 || ns < 0 {
			return errors.New("times add up to more than 63 bits")
		}
		b.Add(stack, -1, 1, ns)
	}
	return nil
}

// microseconds converts to nanoseconds; it is negative if that is too much, or us is.
func microseconds(us int64) int64 {
	if us < 0 || us > math.MaxInt64/1000 {
		return -1
	}
	return us * 1000
}
