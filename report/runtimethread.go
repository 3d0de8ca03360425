package report

import (
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// runtimeThreadDoc is what the runtime of a language knows of a thread.
type runtimeThreadDoc struct {
	Language string   `json:"language"`
	Name     string   `json:"name,omitempty"`
	Facts    []string `json:"facts"`
}

func runtimeThreadDocument(r *profile.RuntimeThread) *runtimeThreadDoc {
	if r == nil {
		return nil
	}
	return &runtimeThreadDoc{profile.Lossless(r.Language), profile.Lossless(r.Name), losslessAll(r.Facts)}
}

func (in *dumpReader) runtimeThread() (*profile.RuntimeThread, error) {
	var doc runtimeThreadDoc
	if err := in.Decode(&doc); err != nil {
		return nil, err
	}
	var err error
	r := &profile.RuntimeThread{Language: in.text(doc.Language, &err), Name: in.text(doc.Name, &err),
		Facts: in.texts(doc.Facts, &err)}
	return r, err
}

// threadName is the quoted name of a thread, and behind it that which its language has for it where it is another.
func threadName(t *profile.Thread) string {
	name := text.Quote(t.Name)
	if r := t.Runtime; r != nil && r.Name != "" && r.Name != t.Name {
		name += " (" + text.Quote(r.Name) + " in " + text.Escape(r.Language) + ")"
	}
	return name
}

// facts writes what runtimes know of the threads of e.
func (p *printer) facts(e entry) {
	all := p.distinct(e.threads, "; ", func(t *profile.Thread) string {
		if t.Runtime == nil {
			return ""
		}
		return text.Escape(strings.Join(t.Runtime.Facts, ", "))
	})
	if all = strings.Trim(all, "; "); all != "" {
		p.line(text.Wrap("  "+all, p.width(), 4))
	}
}
