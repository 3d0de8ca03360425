package cmd

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/fpstack/fpstack/flame/page"
)

// form is a format that profiles are written in.
type form struct {
	name    string
	means   string
	endings []string // of files that hold it; the first is given to new ones
	text    bool     // lines that a person can read on a terminal
	order   bool     // shows which stack came when
	bare    bool     // has no place for the unit of its numbers
	sources bool     // shows source lines
	write   func(w io.Writer, v *view) error
}

// forms are all of them. An ending comes before those that end it.
var forms = []form{
	{name: "folded", means: "main;work 42 for flamegraph.pl, inferno, speedscope; times in nanoseconds",
		endings: []string{".folded", ".txt"}, text: true, bare: true, write: writeFolded},
	{name: "pprof", means: "profile.proto, compressed, for go tool pprof",
		endings: []string{".pb.gz", ".pprof", ".pb"}, write: writePprof},
	{name: "svg", means: "a flame graph, one picture", endings: []string{".svg"}, order: true,
		write: func(w io.Writer, v *view) error { return page.SVG(w, v.profile, v.page()) }},
	{name: "html", means: "a flame graph with threads, callers and tables", endings: []string{".html"}, order: true,
		sources: true, write: func(w io.Writer, v *view) error { return page.HTML(w, v.profile, v.page()) }},
	{name: "speedscope", means: "for speedscope.app", endings: []string{".speedscope.json"}, order: true,
		write: writeSpeedscope},
	{name: "json", means: "everything that is known", endings: []string{".json"}, text: true, order: true,
		write: writeJSON},
}

// profileForm is the value of --format of a profile; the ending of a file decides if it is not given.
func profileForm() choice {
	c := choice{kind: "FORMAT"}
	for i := range forms {
		c.among = append(c.among, word{forms[i].name, forms[i].means})
	}
	return c
}

// formNamed gives the form of that name, nil if there is none.
func formNamed(name string) *form {
	for i := range forms {
		if forms[i].name == name {
			return &forms[i]
		}
	}
	return nil
}

// formOfFile gives the form that the ending of a file's name means, nil for none.
func formOfFile(path string) *form {
	name := strings.ToLower(filepath.Base(path))
	for i := range forms {
		for _, ending := range forms[i].endings {
			if strings.HasSuffix(name, ending) {
				return &forms[i]
			}
		}
	}
	return nil
}

// endingFormat is the format that the ending of a file's name means for a result that is text by default, "" for none.
func endingFormat(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".txt", ".log":
		return "text"
	case ".gdb":
		return "gdb"
	}
	if f := formOfFile(path); f != nil {
		return f.name
	}
	return ""
}

// allEndings lists the endings for a person.
func allEndings() string {
	var endings []string
	for i := range forms {
		endings = append(endings, forms[i].endings...)
	}
	return strings.Join(endings, " ")
}
