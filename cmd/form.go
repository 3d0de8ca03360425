package cmd

import (
	"path/filepath"
	"strings"
)

// form is a format that profiles are written in.
type form struct {
	name    string
	endings []string // of files that hold it; the first is given to new ones
	text    bool     // lines that a person can read on a terminal
	order   bool     // shows which stack came when
}

// forms are all of them. An ending comes before those that end it.
var forms = []form{
	{"folded", []string{".folded", ".txt"}, true, false},
	{"pprof", []string{".pb.gz", ".pprof", ".pb"}, false, false},
	{"svg", []string{".svg"}, false, true},
	{"html", []string{".html"}, false, true},
	{"speedscope", []string{".speedscope.json"}, false, true},
	{"json", []string{".json"}, true, true},
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

// formOfFile gives the form that the ending of a file's name stands for, nil for none.
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

// formNames lists the names for a person.
func formNames() string {
	var names []string
	for i := range forms {
		names = append(names, forms[i].name)
	}
	return strings.Join(names, ", ")
}

// allEndings lists the endings for a person.
func allEndings() string {
	var endings []string
	for i := range forms {
		endings = append(endings, forms[i].endings...)
	}
	return strings.Join(endings, " ")
}
