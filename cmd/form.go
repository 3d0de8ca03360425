package cmd

import (
	"path/filepath"
	"strings"
)

// form is a format that profiles are written in.
type form struct {
	name    string
	means   string
	endings []string // of files that hold it; the first is given to new ones
	text    bool     // lines that a person can read on a terminal
	order   bool     // shows which stack came when
}

// forms are all of them. An ending comes before those that end it.
var forms = []form{
	{"folded", "main;work 42 for flamegraph.pl, inferno, speedscope; times in nanoseconds", []string{".folded", ".txt"},
		true, false},
	{"pprof", "profile.proto, compressed, for go tool pprof", []string{".pb.gz", ".pprof", ".pb"}, false, false},
	{"svg", "a flame graph, one picture", []string{".svg"}, false, true},
	{"html", "a flame graph with threads, callers and tables", []string{".html"}, false, true},
	{"speedscope", "for speedscope.app", []string{".speedscope.json"}, false, true},
	{"json", "everything that is known", []string{".json"}, true, true},
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

// allEndings lists the endings for a person.
func allEndings() string {
	var endings []string
	for i := range forms {
		endings = append(endings, forms[i].endings...)
	}
	return strings.Join(endings, " ")
}
