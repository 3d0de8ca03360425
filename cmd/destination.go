package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mattn/go-isatty"

	"github.com/fpstack/fpstack/outfile"
	"github.com/fpstack/fpstack/text"
)

// destination is where a profile goes, and in which form.
type destination struct {
	path string // "-" is standard output; with stem, the name that is likely
	form *form
	stem string // of a new file in the current folder, whose name we choose; "" if the user named one
}

// destine decides from -o and -f, either of which may be "". Without -f the ending of the
// file decides. Without -o it is standard output, in the form piped if -f does not say; but
// on a terminal nobody wants what is no text: there it is a new file in the current
// folder, stem with the form's ending. What is to be opened in a browser is always a file, of a form that those show.
func (a *app) destine(output, format, piped, stem string, open bool) (destination, error) {
	d, err := a.chooseDestination(output, format, piped, stem, open)
	if err != nil || !open {
		return d, err
	}
	switch {
	case d.form.name != "html" && d.form.name != "svg":
		return d, usageError{errors.New("--open without html or svg output: a browser shows only flame graphs")}
	case d.path == "-":
		return d, usageError{errors.New("--open shows a file, and this goes to standard output: name one with -o")}
	}
	return d, nil
}

func (a *app) chooseDestination(output, format, piped, stem string, open bool) (destination, error) {
	f := formNamed(format)
	if ending := formOfFile(output); f != nil && ending != nil && ending != f && output != "-" {
		return destination{}, usageError{fmt.Errorf("-f %s with -o %q: the ending means %s", format, output,
			ending.name)}
	}
	if f == nil && output != "" && output != "-" {
		if f = formOfFile(output); f == nil {
			return destination{}, usageError{fmt.Errorf("-o %q: unknown file ending: want %s, or give -f", output,
				allEndings())}
		}
	}
	onScreen := isScreen(a.stdout)
	switch {
	case open && output == "" && f == nil:
		f = formNamed("html")
	case open && output == "" && !f.text:
	case output != "" && output != "-":
		return destination{path: output, form: f}, nil
	case !onScreen && f == nil:
		return destination{path: "-", form: formNamed(piped)}, nil
	case !onScreen, f != nil && f.text:
		return destination{path: "-", form: f}, nil
	case output == "-" && f == nil:
		return destination{path: "-", form: formNamed("folded")}, nil
	case output == "-":
		return destination{}, usageError{fmt.Errorf("-f %s: standard output is a terminal; name a file with -o",
			f.name)}
	case f == nil:
		f = formNamed("html")
	}
	path, err := outfile.Propose("", stem, f.endings[0])
	return destination{path: path, form: f, stem: stem}, err
}

// isScreen reports whether w is a terminal, of whatever ability.
func isScreen(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// store lets write fill the destination, and returns the path of the file, "-" for standard output.
func (a *app) store(to *destination, write func(io.Writer) error) (path string, err error) {
	if to.stem != "" {
		return a.createOutput(".", to.stem, to.form.endings[0], write)
	}
	return to.path, a.writeOutput(to.path, write)
}

// recordStem names a recording of these processes or this command.
func recordStem(pids ids, command []string) string {
	if len(command) > 0 {
		return "fpstack-" + text.FileName(filepath.Base(command[0]))
	}
	return "fpstack-" + strconv.Itoa(pids[0])
}

// place words the destination for a person.
func (d *destination) place() string {
	if d.path == "-" {
		return "standard output"
	}
	return d.path
}
