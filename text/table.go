package text

import (
	"regexp"
	"strings"
	"sync"
)

// Pad fills s up to cells with blanks on its right.
func Pad(s string, cells int) string { return s + strings.Repeat(" ", max(0, cells-Width(s))) }

// PadLeft fills s up to cells with blanks on its left.
func PadLeft(s string, cells int) string { return strings.Repeat(" ", max(0, cells-Width(s))) + s }

// Column says how the cells of a column are shortened, nil for not at all.
type Column func(s string, cells int) string

// leastColumn is what a column that may be shortened keeps, in cells.
const leastColumn = 8

// Table sets rows in columns, two blanks apart, as wide as they need. Where that is more than
// width the widest of the columns that may be shortened give way; width 0 is no limit.
//
// Precondition: each row has len(columns) cells.
func Table(rows [][]string, columns []Column, width int) []string {
	cells := make([]int, len(columns))
	room := width - 2*(len(columns)-1)
	var give []*int // the widths that may shrink
	for c, shorten := range columns {
		for _, row := range rows {
			cells[c] = max(cells[c], Width(row[c]))
		}
		if shorten != nil {
			give = append(give, &cells[c])
		} else {
			room -= cells[c]
		}
	}
	if width > 0 {
		Fit(room, give...)
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for c, shorten := range columns {
			s := row[c]
			if shorten != nil {
				s = shorten(s, cells[c])
			}
			b.WriteString(Pad(s, cells[c]+2))
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// Fit makes widths smaller until their sum is at most room: the widest first, the last of several, and none below
// eight.
func Fit(room int, widths ...*int) {
	for _, w := range widths {
		room -= *w
	}
	for ; room < 0; room++ {
		widest := -1
		for i, w := range widths {
			if *w > leastColumn && (widest < 0 || *w >= *widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		*widths[widest]--
	}
}

// colours are the sequences that dress text on a terminal. Source: ECMA-48, section 8.3.117 (SGR). They are compiled
// when they are first looked for: a start pays for all that is made before main.
var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*m") })

// Wrap breaks s at blanks into lines of at most width cells, 0 for no limit; a word that is
// wider stays whole. Lines but the first begin with indent blanks. Colours ("\x1b[…m") take no cells.
func Wrap(s string, width, indent int) string {
	if width <= 0 || fits(colours().ReplaceAllString(s, ""), width) {
		return s
	}
	var b strings.Builder
	at, begun := 0, false // what is on the line: cells, and whether a word
	for rest := s; rest != ""; {
		blanks := rest[:len(rest)-len(strings.TrimLeft(rest, " "))]
		word, _, _ := strings.Cut(rest[len(blanks):], " ")
		rest = rest[len(blanks)+len(word):]
		cells := Width(colours().ReplaceAllString(word, ""))
		if begun && at+len(blanks)+cells > width {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			blanks, at = "", indent
		}
		b.WriteString(blanks + word)
		begun = true
		at += len(blanks) + cells
	}
	return b.String()
}
