package top

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/fpstack/fpstack/profile"
)

// filter says what is shown. The zero value shows all.
type filter struct {
	text                 string // as typed
	name, module, thread *regexp.Regexp
}

// parseFilter reads what a person types: a regular expression for names, and among it words
// like module:RE and thread:RE. What is not a valid expression is taken as plain text.
// Without an upper-case letter, case does not matter.
func parseFilter(text string) filter {
	f := filter{text: strings.TrimSpace(text)}
	var rest []string
	for _, word := range strings.Fields(text) {
		if expr, ok := strings.CutPrefix(word, "module:"); ok {
			f.module = pattern(expr)
		} else if expr, ok := strings.CutPrefix(word, "thread:"); ok {
			f.thread = pattern(expr)
		} else {
			rest = append(rest, word)
		}
	}
	f.name = pattern(strings.Join(rest, " "))
	return f
}

// pattern compiles expr; nil, which matches everything, for "".
func pattern(expr string) *regexp.Regexp {
	if expr == "" {
		return nil
	}
	expr = strings.ToValidUTF8(expr, "\uFFFD") // which regexp refuses, quoted too
	flags := "(?i)"
	if strings.ContainsFunc(expr, unicode.IsUpper) {
		flags = ""
	}
	if re, err := regexp.Compile(flags + expr); err == nil {
		return re
	}
	return regexp.MustCompile(flags + regexp.QuoteMeta(expr))
}

func matches(re *regexp.Regexp, s string) bool { return re == nil || re.MatchString(s) }

// matchesTask checks the names and the ids of a thread.
func (f *filter) matchesTask(t *profile.Task) bool {
	return f.thread == nil || f.thread.MatchString(taskLabel(t))
}

// matchesRow checks a row of code.
func (f *filter) matchesRow(g *group) bool {
	return matches(f.name, g.Name) && (f.module == nil || slices.ContainsFunc(g.modules, f.module.MatchString))
}
