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
