package ci

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/fpstack/fpstack/text"
)

// Level is how much an annotation matters.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Notice  Level = "notice"
)

// Style is the level as Buildkite's agent names it.
func (l Level) Style() string {
	if l == Notice {
		return "info"
	}
	return string(l)
}

// Annotation is a sentence at a place of the sources. Its strings are on one line and have no control characters.
type Annotation struct {
	Level Level
	Place Place
	Title string
	Text  string
	Code  string // names the kind of finding, in letters and hyphens
}

// form is how one system writes things.
type form interface {
	// group gives the lines around what is folded away. What is open is not; most systems need no line for that.
	group(title string, open bool) (before, after string)
	// annotation gives the line of a, "" where the log has none.
	annotation(a *Annotation) string
	// shield gives the lines around text of the target, and what makes a line of it harmless.
	shield() (before, after string, line func(string) string)
	// file is the command that hands a file to the system, "" where it has none. path is on one line.
	file(kind FileKind, path string) string
}

// plain is a log that nobody reads commands from.
type plain struct{ noFiles }

func (plain) group(string, bool) (before, after string)                { return "", "" }
func (plain) annotation(*Annotation) string                            { return "" }
func (plain) shield() (before, after string, line func(string) string) { return "", "", same }

func same(s string) string { return s }

// noFiles is of a system that is handed no files by its log.
type noFiles struct{}

func (noFiles) file(FileKind, string) string { return "" }

// marks are the beginnings of commands, and what they become in text of the target.
var marks = strings.NewReplacer("##[", `#\#[`, "##vso[", `#\#vso[`, "##teamcity[", `#\#teamcity[`)

type github struct {
	token string
	noFiles
}

// maxMessage is what GitHub shows of an annotation. Source: the runner cuts a message at so many characters.
const maxMessage = 4096

var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func (github) group(title string, open bool) (before, after string) {
	if open {
		return "", ""
	}
	return "::group::" + githubData.Replace(title), "::endgroup::"
}

func (github) annotation(a *Annotation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "::%s ", a.Level)
	if a.Place.File != "" {
		fmt.Fprintf(&b, "file=%s,", githubProperty.Replace(a.Place.File))
	}
	if a.Place.Line > 0 {
		fmt.Fprintf(&b, "line=%d,", a.Place.Line)
	}
	fmt.Fprintf(&b, "title=%s::", githubProperty.Replace(a.Title))
	return b.String() + cut(a.Text, maxMessage-b.Len(), githubData.Replace)
}

// shield stops the processing of commands: the runner takes none until the token comes.
func (g github) shield() (before, after string, line func(string) string) {
	return "::stop-commands::" + g.token, "::" + g.token + "::", same
}

type gitlab struct {
	at int64
	noFiles
}

const section = "fpstack"

func (g gitlab) group(title string, open bool) (before, after string) {
	if open {
		return "", ""
	}
	at, name := strconv.FormatInt(g.at, 10), sectionName(title)
	return "\x1b[0Ksection_start:" + at + ":" + name + "[collapsed=true]\r\x1b[0K" + title,
		"\x1b[0Ksection_end:" + at + ":" + name + "\r\x1b[0K"
}

// sectionName keeps of a title what the name of a section may have.
func sectionName(title string) string {
	return section + "_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, title)
}

func (gitlab) annotation(*Annotation) string { return "" }

// shield has nothing to do but for words that other readers of logs know: sections begin with a control character,
// which text of the target has none of.
func (gitlab) shield() (before, after string, line func(string) string) { return "", "", marks.Replace }

type azure struct{}

// azureEscapes: a percent sign has been written so since agent 2.190; without it text could hold an escape.
var azureEscapes = strings.NewReplacer("%", "%AZP25", ";", "%3B", "\r", "%0D", "\n", "%0A", "]", "%5D")

func (azure) group(title string, open bool) (before, after string) {
	if open {
		return "", ""
	}
	return "##[group]" + marks.Replace(title), "##[endgroup]"
}

func (azure) annotation(a *Annotation) string {
	if a.Level == Notice {
		return "" // it knows errors and warnings alone
	}
	var b strings.Builder
	fmt.Fprintf(&b, "##vso[task.logissue type=%s;", a.Level)
	if a.Place.File != "" {
		fmt.Fprintf(&b, "sourcepath=%s;", azureEscapes.Replace(a.Place.File))
	}
	if a.Place.Line > 0 {
		fmt.Fprintf(&b, "linenumber=%d;", a.Place.Line)
	}
	fmt.Fprintf(&b, "code=%s;]", azureEscapes.Replace(a.Code))
	return b.String() + cut(marks.Replace(a.Title+": "+a.Text), maxMessage-b.Len(), azureEscapes.Replace)
}

func (azure) shield() (before, after string, line func(string) string) { return "", "", marks.Replace }

func (azure) file(kind FileKind, path string) string {
	if kind != Markdown {
		return ""
	}
	return "##vso[task.uploadsummary]" + azureEscapes.Replace(path)
}

type teamcity struct{}

// What TeamCity takes of a problem.
const (
	maxProblem  = 4000
	maxIdentity = 60
)

func (teamcity) group(title string, open bool) (before, after string) {
	if open {
		return "", ""
	}
	name := teamcityEscape(title)
	return "##teamcity[blockOpened name='" + name + "']", "##teamcity[blockClosed name='" + name + "']"
}

func (teamcity) annotation(a *Annotation) string {
	where := ""
	if a.Place.File != "" {
		where = a.Place.File
		if a.Place.Line > 0 {
			where += ":" + strconv.Itoa(a.Place.Line)
		}
		where += ": "
	}
	said := cut(where+a.Title+": "+a.Text, maxProblem, teamcityEscape)
	if a.Level != Error {
		return "##teamcity[message text='" + said + "' status='WARNING']"
	}
	return "##teamcity[buildProblem description='" + said + "' identity='" + cut(a.Code, maxIdentity, teamcityEscape) +
		"']"
}

func (teamcity) shield() (before, after string, line func(string) string) {
	return "", "", marks.Replace
}

func (teamcity) file(kind FileKind, path string) string {
	switch kind {
	case Report:
		return "##teamcity[publishArtifacts '" + teamcityEscape(path) + " => fpstack']"
	case JUnitXML:
		return "##teamcity[importData type='junit' path='" + teamcityEscape(path) + "']"
	}
	return ""
}

// teamcityEscape writes s between the quotes of a service message.
func teamcityEscape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\'' || r == '|' || r == '[' || r == ']':
			b.WriteByte('|')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString("|n")
		case r == '\r':
			b.WriteString("|r")
		case r < ' ' || r > '~':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, "|0x%04x", unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

type buildkite struct{ noFiles }

func (buildkite) group(title string, open bool) (before, after string) {
	if open {
		return "+++ " + title, ""
	}
	return "--- " + title, ""
}

func (buildkite) annotation(*Annotation) string { return "" }

// shield keeps text of the target from opening a group: those are told by how a line begins.
func (buildkite) shield() (before, after string, line func(string) string) {
	return "", "", func(s string) string {
		for _, head := range []string{"--- ", "+++ ", "~~~ ", "^^^ "} {
			if strings.HasPrefix(s, head) {
				return " " + marks.Replace(s)
			}
		}
		return marks.Replace(s)
	}
}

// cut escapes as much of s as has room, and marks what is left out. An escape is never cut apart.
func cut(s string, room int, escape func(string) string) string {
	if out := escape(s); len(out) <= room {
		return out
	}
	mark := escape("…")
	var b strings.Builder
	for _, r := range s {
		piece := escape(string(r))
		if b.Len()+len(piece)+len(mark) > room {
			break
		}
		b.WriteString(piece)
	}
	return b.String() + mark
}

// oneLine makes s fit for an annotation: no control characters, no line ends.
func oneLine(s string) string { return text.Message(text.Clean(s, ' ')) }
