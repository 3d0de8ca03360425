package flame

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// jsonSchema names the form; docs/schema/fpstack.profile.1.schema.json describes it.
const jsonSchema = "fpstack.profile/1"

type jsonType struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
}

type jsonModule struct {
	Path    string   `json:"path"`
	BuildID string   `json:"build_id,omitempty"`
	Base    jsonAddr `json:"base"`
	Start   jsonAddr `json:"start"`
	End     jsonAddr `json:"end"`
	Offset  jsonAddr `json:"offset"`
	Symbols []string `json:"symbols,omitempty"`
	Error   string   `json:"error,omitempty"`
}

type jsonFrame struct {
	Func       string    `json:"function,omitempty"`
	Linkage    string    `json:"linkage,omitempty"`
	Kind       string    `json:"kind"`
	Inlined    bool      `json:"inlined,omitempty"`
	Module     *int      `json:"module,omitempty"`
	Address    *jsonAddr `json:"address,omitempty"`
	ModuleAddr *jsonAddr `json:"module_address,omitempty"`
	Offset     *jsonAddr `json:"offset,omitempty"`
	File       string    `json:"file,omitempty"`
	Line       int       `json:"line,omitempty"`
}

type jsonTask struct {
	PID     int    `json:"pid,omitempty"`
	TID     int    `json:"tid,omitempty"`
	Process string `json:"process,omitempty"`
	Thread  string `json:"thread,omitempty"`
}

// jsonAddr is a number of 64 bits as "0x…": JSON's lose bits.
type jsonAddr uint64

// MarshalText returns a as [jsondoc.Hex] does.
func (a jsonAddr) MarshalText() ([]byte, error) { return []byte(jsondoc.Hex(uint64(a))), nil }

// UnmarshalText takes what MarshalText gives.
func (a *jsonAddr) UnmarshalText(text []byte) error {
	v, err := jsondoc.ParseHex(string(text))
	*a = jsonAddr(v)
	return err
}

// optional returns nil for 0.
func optional(v uint64) *jsonAddr {
	if v == 0 {
		return nil
	}
	return (*jsonAddr)(&v)
}

// WriteJSON writes p in our own form, which holds all of a Profile. Tables whose rows are many
// are columns of numbers. In strings a backslash is doubled and a byte that is no UTF-8 is \xNN, as in our
// dumps, so that none is lost.
//
// Precondition: p passes [profile.Profile.CheckValid]. It fails if w does.
func WriteJSON(w io.Writer, p *profile.Profile) error { return writeJSON(w, p, nil) }

// WriteJSONDiff writes d as WriteJSON writes [profile.Diff.Join], and how each function's default value changed and how
// sure that is ([profile.Diff.Changes]).
//
// Precondition: d.New passes [profile.Profile.CheckValid]. It fails if w does.
func WriteJSONDiff(w io.Writer, d *profile.Diff) error { return writeJSON(w, d.Join(), d) }

func writeJSON(w io.Writer, p *profile.Profile, d *profile.Diff) error {
	out := &jsonWriter{w: bufio.NewWriterSize(w, 256<<10)}
	out.raw("{\"schema\":\"" + jsonSchema + "\"")
	out.member("types", len(p.Types), func(i int) any { return typeJSON(p.Types[i]) })
	out.value("default", p.Default)
	out.value("period_ns", int64(p.Period))
	out.value("period_type", typeJSON(p.PeriodType))
	if !p.Start.IsZero() {
		out.value("start", p.Start.Format(time.RFC3339Nano))
	}
	out.value("duration_ns", int64(p.Duration))
	out.member("command", len(p.Command), func(i int) any { return profile.Lossless(p.Command[i]) })
	out.member("comments", len(p.Comments), func(i int) any { return profile.Lossless(p.Comments[i]) })
	out.member("modules", len(p.Modules), func(i int) any { return moduleJSON(&p.Modules[i]) })
	out.member("frames", len(p.Frames), func(i int) any { return frameJSON(&p.Frames[i]) })
	out.member("tasks", len(p.Tasks), func(i int) any { return taskJSON(p.Tasks[i]) })

	nodes := p.Tree.Len() - 1
	out.raw(",\n\"stacks\":{")
	out.column("caller", nodes, func(i int) int64 { return int64(p.Tree.Parent(profile.NodeID(i + 1))) })
	out.raw(",")
	out.column("frame", nodes, func(i int) int64 { return int64(p.Tree.Frame(profile.NodeID(i + 1))) })
	out.raw("},\n\"samples\":{")
	out.column("stack", len(p.Samples), func(i int) int64 { return int64(p.Samples[i].Stack) })
	out.raw(",")
	out.column("task", len(p.Samples), func(i int) int64 { return int64(p.Samples[i].Task) })
	out.raw(",")
	out.column("values", len(p.Values), func(i int) int64 { return p.Values[i] })
	out.raw("}")
	if p.Runs != nil {
		out.runs(p.Runs)
	}
	if d != nil {
		out.difference(d)
	}
	out.raw("}\n")
	if out.err != nil {
		return out.err
	}
	return out.w.Flush()
}

func typeJSON(t profile.ValueType) jsonType {
	return jsonType{profile.Lossless(t.Type), profile.Lossless(t.Unit)}
}

func moduleJSON(m *profile.Module) jsonModule {
	var symbols []string
	for _, s := range m.Symbols {
		symbols = append(symbols, profile.Lossless(s))
	}
	return jsonModule{profile.Lossless(m.Path), profile.Lossless(m.BuildID), jsonAddr(m.Base), jsonAddr(m.Start), jsonAddr(m.End), jsonAddr(m.Offset),
		symbols, profile.Lossless(m.Err)}
}

func frameJSON(f *profile.Frame) jsonFrame {
	out := jsonFrame{Func: profile.Lossless(f.Func), Linkage: profile.Lossless(f.Linkage), Kind: f.Kind.String(), Inlined: f.Inlined, Address: optional(f.Addr),
		ModuleAddr: optional(f.ModuleAddr), Offset: optional(f.Offset), File: profile.Lossless(f.File), Line: f.Line}
	if f.Module >= 0 {
		out.Module = &f.Module
	}
	return out
}

func taskJSON(t profile.Task) jsonTask {
	return jsonTask{t.PID, t.TID, profile.Lossless(t.Process), profile.Lossless(t.Thread)}
}

// jsonWriter writes a document piece by piece: as one value it would be in memory twice.
type jsonWriter struct {
	w      *bufio.Writer
	number []byte
	err    error // of Marshal; errors of writing stay in w
}

func (o *jsonWriter) raw(text string) { o.w.WriteString(text) }

func (o *jsonWriter) value(name string, v any) {
	o.raw(",\n\"" + name + "\":")
	o.any(v)
}

func (o *jsonWriter) any(v any) {
	text, err := json.Marshal(v)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.w.Write(jsondoc.Printable(text))
}

// member writes a list, a line for each element.
func (o *jsonWriter) member(name string, n int, element func(int) any) {
	o.raw(",\n\"" + name + "\":[")
	for i := range n {
		o.raw(sep(i) + "\n")
		o.any(element(i))
	}
	o.raw("]")
}

// column writes a list of numbers.
func (o *jsonWriter) column(name string, n int, element func(int) int64) {
	o.raw("\"" + name + "\":[")
	for i := range n {
		if i > 0 {
			o.w.WriteByte(',')
		}
		o.number = strconv.AppendInt(o.number[:0], element(i), 10)
		o.w.Write(o.number)
	}
	o.raw("]")
}

func (o *jsonWriter) runs(runs []profile.Run) {
	o.raw(",\n\"runs\":{")
	o.column("task", len(runs), func(i int) int64 { return int64(runs[i].Task) })
	o.raw(",")
	o.column("stack", len(runs), func(i int) int64 { return int64(runs[i].Stack) })
	o.raw(",")
	o.column("at_ns", len(runs), func(i int) int64 { return int64(runs[i].At) })
	o.raw(",")
	o.column("for_ns", len(runs), func(i int) int64 { return int64(runs[i].For) })
	o.raw("}")
}
