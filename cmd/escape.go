package cmd

import (
	"strconv"
	"strings"
)

// escape makes the names in a message harmless to a terminal: what does not print is shown as
// Go writes it, \n or \x1b.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// escapeLines is escape for text of several lines.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(escape(l), `\t`, "\t")
	}
	return strings.Join(lines, "\n")
}
