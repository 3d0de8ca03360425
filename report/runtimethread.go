package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// runtimeThreadDoc is what the runtime of a language knows of a thread.
type runtimeThreadDoc struct {
	Language string   `json:"language"`
	ID       uint64   `json:"id,omitempty"`
	Name     string   `json:"name,omitempty"`
	State    string   `json:"state,omitempty"`
	Facts    []string `json:"facts"`
}

func runtimeThreadDocument(r *profile.RuntimeThread) *runtimeThreadDoc {
	if r == nil {
		return nil
	}
	return &runtimeThreadDoc{profile.Lossless(r.Language), r.ID, profile.Lossless(r.Name),
		profile.Lossless(r.State), losslessAll(r.Facts)}
}

func (in *dumpReader) runtimeThread() (*profile.RuntimeThread, error) {
	var doc runtimeThreadDoc
	if err := in.Decode(&doc); err != nil {
		return nil, err
	}
	var err error
	r := &profile.RuntimeThread{Language: in.text(doc.Language, &err), ID: doc.ID, Name: in.text(doc.Name, &err),
		State: in.text(doc.State, &err), Facts: in.texts(doc.Facts, &err)}
	return r, err
}

// threadName is the quoted name of a thread: that which its language has for it, if both are wanted behind the kernel's
// where they differ; with its number there if that is wanted: `"worker" (14 in .NET)`.
func threadName(t *profile.Thread, numbered, both bool) string {
	name := text.Quote(t.Name)
	r := t.Runtime
	if r == nil {
		return name
	}
	if r.Name != "" && !both {
		if name = text.Quote(r.Name); numbered && r.ID != 0 {
			name += fmt.Sprintf(" (%d in %s)", r.ID, text.Escape(r.Language))
		}
		return name
	}
	var own []string
	if numbered && r.ID != 0 {
		own = append(own, strconv.FormatUint(r.ID, 10))
	}
	if r.Name != "" && r.Name != t.Name {
		own = append(own, text.Quote(r.Name))
	}
	if len(own) == 0 {
		return name
	}
	known := "(" + strings.Join(own, " ") + " in " + text.Escape(r.Language) + ")"
	if t.Name == "" { // a core file does not have it
		return known
	}
	return name + " " + known
}

// facts writes what runtimes know of the threads of e, but for what stands in the heading.
func (p *printer) facts(e entry) {
	all := p.distinct(e.threads, "; ", func(t *profile.Thread) string {
		if t.Runtime == nil {
			return ""
		}
		known := t.Runtime.Facts
		if said := runtimeWait(t); said != "" && !p.opt.Verbose && t.State == "S" {
			known = slices.DeleteFunc(slices.Clone(known), func(f string) bool { return f == said })
		}
		if p.opt.Verbose && t.Runtime.State != "" {
			known = append([]string{"is " + t.Runtime.State}, known...)
		}
		return text.Escape(strings.Join(known, ", "))
	})
	if all = strings.Trim(all, "; "); all != "" {
		p.line(text.Wrap("  "+all, p.width(), 4))
	}
}
