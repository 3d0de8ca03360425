package report

import (
	"errors"
	gomaps "maps"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// locals writes the local variables of f, a line each: all are those of its stack, by number of the frame.
func (p *printer) locals(all map[int][]profile.Variable, f *profile.Frame) {
	if f.Inlined || f.Stub {
		return
	}
	for _, v := range all[f.Index] {
		line := sourceText(v.Value)
		if v.Name != "" {
			line = text.Escape(v.Name) + " = " + line
		}
		p.line(text.Wrap("        "+line, p.width(), 10))
	}
}

// localsDoc is the local variables of one frame.
type localsDoc struct {
	Frame     int           `json:"frame"`
	Variables []variableDoc `json:"variables"`
}

type variableDoc struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value"`
}

func localsDocuments(all map[int][]profile.Variable) (docs []*localsDoc) {
	for _, n := range slices.Sorted(gomaps.Keys(all)) {
		doc := &localsDoc{Frame: n, Variables: make([]variableDoc, 0, len(all[n]))}
		for _, v := range all[n] {
			doc.Variables = append(doc.Variables, variableDoc{profile.Lossless(v.Name), profile.Lossless(v.Value)})
		}
		docs = append(docs, doc)
	}
	return docs
}

// locals reads the local variables of a frame.
func (in *dumpReader) locals(to *map[int][]profile.Variable) error {
	var doc localsDoc
	if err := in.Decode(&doc); err != nil {
		return err
	}
	return in.addLocals(to, &doc)
}

// addLocals adds the local variables of a frame. They count as frames, of which a document has so many.
func (in *dumpReader) addLocals(to *map[int][]profile.Variable, doc *localsDoc) error {
	if in.frames += len(doc.Variables); in.frames > in.limits.frames || doc.Frame < 0 {
		return errors.New("more local variables and frames than a dump has")
	}
	var err error
	if *to == nil {
		*to = map[int][]profile.Variable{}
	}
	for _, v := range doc.Variables {
		(*to)[doc.Frame] = append((*to)[doc.Frame],
			profile.Variable{Name: in.text(v.Name, &err), Value: in.text(v.Value, &err)})
	}
	return err
}
