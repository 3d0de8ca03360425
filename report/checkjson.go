package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/fpstack/fpstack/check"
	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// CheckSchema is the value of "schema" in the document that CheckJSON writes, described in
// docs/schema/fpstack.check.1.schema.json.
const CheckSchema = "fpstack.check/1"

type checkDoc struct {
	Schema   string            `json:"schema"`
	Process  *checkProcessDoc  `json:"process,omitempty"`
	Modules  []*checkModuleDoc `json:"modules"`
	Unnamed  *unnamedDoc       `json:"unnamed_code,omitempty"`
	Threads  []*checkThreadDoc `json:"threads,omitempty"`
	Required []check.Aspect    `json:"required"`
	Unmet    []unmetDoc        `json:"unmet"`
	Problems []string          `json:"problems"`
}

type checkProcessDoc struct {
	PID  int    `json:"pid"`
	Comm string `json:"comm,omitempty"`
}

type unnamedDoc struct {
	Regions int    `json:"regions"`
	Bytes   uint64 `json:"bytes"`
}

type unmetDoc struct {
	Module int          `json:"module"`
	Aspect check.Aspect `json:"aspect"`
	Why    string       `json:"why"`
}

type checkModuleDoc struct {
	Path      string        `json:"path"`
	BuildID   string        `json:"build_id,omitempty"`
	Arch      string        `json:"arch,omitempty"`
	System    bool          `json:"system"`
	Deleted   bool          `json:"deleted"`
	VDSO      bool          `json:"vdso"`
	Error     string        `json:"error,omitempty"`
	Compilers []compilerDoc `json:"compilers"`
	Code      *uint64       `json:"code_bytes,omitempty"`
	Tables    *tablesDoc    `json:"tables,omitempty"`
	Symbols   []symbolDoc   `json:"symbols"`
	Lines     *linesDoc     `json:"lines,omitempty"`
	Frames    *framesDoc    `json:"frame_pointers,omitempty"`
	Mend      []mendDoc     `json:"mend"`
	Notes     []string      `json:"notes"`
}

type compilerDoc struct {
	Kind    string `json:"kind,omitempty"`
	Version string `json:"version,omitempty"`
}

type tablesDoc struct {
	Kinds   []tableKindDoc `json:"kinds"`
	Covered uint64         `json:"covered_bytes"`
	Indexed bool           `json:"indexed"`
}

type tableKindDoc struct {
	Name    string `json:"name"`
	Covered uint64 `json:"covered_bytes"`
}

type symbolDoc struct {
	Name      string `json:"name"`
	Path      string `json:"path,omitempty"`
	Functions int    `json:"functions"`
}

type linesDoc struct {
	Kind string `json:"kind"`
	Path string `json:"path,omitempty"`
}

type framesDoc struct {
	From      string `json:"from"`
	Functions int    `json:"functions"`
	Read      int    `json:"read"`
	Kept      int    `json:"kept"`
	Missing   int    `json:"missing"`
	NotNeeded int    `json:"not_needed"`
	Unclear   int    `json:"unclear"`
}

type mendDoc struct {
	Aspect check.Aspect `json:"aspect"`
	How    string       `json:"how"`
}

type checkThreadDoc struct {
	TIDs       []int      `json:"tids"`
	Names      []string   `json:"names"`
	NotWalked  string     `json:"not_walked,omitempty"`
	Frames     int        `json:"frames"`
	Reached    int        `json:"reached"`
	Stop       string     `json:"stop,omitempty"`
	Breaks     []breakDoc `json:"breaks"`
	MoreBreaks int        `json:"more_breaks,omitempty"`
}

type breakDoc struct {
	Frame    int          `json:"frame"`
	Function string       `json:"function,omitempty"`
	Module   string       `json:"module,omitempty"`
	Signal   bool         `json:"signal,omitempty"`
	Effect   string       `json:"effect"`
	Lost     int          `json:"lost"`
	Reason   string       `json:"reason"`
	Mend     string       `json:"mend,omitempty"`
	Also     []culpritDoc `json:"also,omitempty"`
}

type culpritDoc struct {
	Function string `json:"function,omitempty"`
	Module   string `json:"module,omitempty"`
	Frames   int    `json:"frames"`
	Mend     string `json:"mend,omitempty"`
}

// CheckJSON writes r as one indented document that ends in a newline. Strings of the target keep every
// byte, as in [JSON].
func CheckJSON(w io.Writer, r *check.Report) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(checkDocument(r))
	if err == nil {
		_, err = w.Write(jsondoc.Printable(text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write what was checked: %w", err)
	}
	return nil
}

func checkDocument(r *check.Report) *checkDoc {
	doc := &checkDoc{Schema: CheckSchema, Modules: []*checkModuleDoc{},
		Required: append([]check.Aspect{}, r.Required...),
		Unmet:    []unmetDoc{}, Problems: losslessAll(r.Problems)}
	if r.PID != 0 {
		doc.Process = &checkProcessDoc{r.PID, profile.Lossless(r.Comm)}
		doc.Unnamed = &unnamedDoc{r.Unnamed, r.UnnamedBytes}
	}
	number := map[*check.Module]int{}
	for i, m := range r.Modules {
		number[m] = i
		doc.Modules = append(doc.Modules, moduleDocument(m))
	}
	for _, u := range r.Unmet() {
		doc.Unmet = append(doc.Unmet, unmetDoc{number[u.Module], u.Aspect, profile.Lossless(u.Why)})
	}
	for i := range r.Threads {
		doc.Threads = append(doc.Threads, checkThreadDocument(&r.Threads[i]))
	}
	return doc
}

func moduleDocument(m *check.Module) *checkModuleDoc {
	doc := &checkModuleDoc{Path: profile.Lossless(m.Path), BuildID: m.BuildID, Arch: m.Arch, System: m.System(),
		Deleted: m.Deleted,
		VDSO:    m.VDSO, Compilers: []compilerDoc{}, Symbols: []symbolDoc{}, Mend: []mendDoc{},
		Notes: losslessAll(m.Notes)}
	if m.Err != nil {
		doc.Error = profile.Lossless(m.Err.Error())
		return doc
	}
	for _, c := range m.Compilers {
		doc.Compilers = append(doc.Compilers, compilerDoc{c.Kind, profile.Lossless(c.Version)})
	}
	code := m.Code
	doc.Code = &code
	doc.Tables = &tablesDoc{[]tableKindDoc{}, m.Tables.Covered, !m.Tables.NoIndex}
	for _, k := range m.Tables.Kinds {
		doc.Tables.Kinds = append(doc.Tables.Kinds, tableKindDoc{k.Name, k.Covered})
	}
	for _, s := range m.Symbols {
		doc.Symbols = append(doc.Symbols, symbolDoc{s.Name, profile.Lossless(s.Path), s.Functions})
	}
	if m.Lines.Kind != "" {
		doc.Lines = &linesDoc{m.Lines.Kind, profile.Lossless(m.Lines.Path)}
	}
	if f := m.Frames; f.Looked > 0 {
		doc.Frames = &framesDoc{f.From, f.All, f.Looked, f.Kept, f.Missing, f.NotNeeded, f.Unclear}
	}
	for _, a := range []check.Aspect{check.FP, check.Unwind, check.Names, check.Source} {
		if how := m.Mend(a); how != "" {
			doc.Mend = append(doc.Mend, mendDoc{a, profile.Lossless(how)})
		}
	}
	return doc
}

func checkThreadDocument(t *check.Thread) *checkThreadDoc {
	doc := &checkThreadDoc{TIDs: t.TIDs, Names: losslessAll(t.Names), NotWalked: profile.Lossless(t.NotWalked),
		Frames:  t.Frames,
		Reached: t.Reached, Stop: profile.Lossless(t.Stop), Breaks: []breakDoc{}, MoreBreaks: t.MoreBreaks}
	for _, b := range t.Breaks {
		d := breakDoc{b.Frame, profile.Lossless(b.Function), profile.Lossless(b.Module), b.Signal,
			b.Effect.String(), b.Lost,
			profile.Lossless(b.Reason), profile.Lossless(b.Mend), nil}
		for _, c := range b.Also {
			d.Also = append(d.Also, culpritDoc{profile.Lossless(c.Function), profile.Lossless(c.Module), c.Frames,
				profile.Lossless(c.Mend)})
		}
		doc.Breaks = append(doc.Breaks, d)
	}
	return doc
}
