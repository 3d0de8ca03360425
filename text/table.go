package text

import "strings"

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
	sum := 2 * (len(columns) - 1)
	for c := range columns {
		for _, row := range rows {
			cells[c] = max(cells[c], Width(row[c]))
		}
		sum += cells[c]
	}
	for ; width > 0 && sum > width; sum-- {
		widest := -1
		for c, shorten := range columns {
			if shorten != nil && cells[c] > leastColumn && (widest < 0 || cells[c] >= cells[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			break
		}
		cells[widest]--
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

// Wrap breaks s at blanks into lines of at most width cells, 0 for no limit; a word that is
// wider stays whole. Lines but the first begin with indent blanks.
func Wrap(s string, width, indent int) string {
	if width <= 0 || fits(s, width) {
		return s
	}
	var b strings.Builder
	at := 0
	for rest := s; rest != ""; {
		blanks := rest[:len(rest)-len(strings.TrimLeft(rest, " "))]
		word, _, _ := strings.Cut(rest[len(blanks):], " ")
		rest = rest[len(blanks)+len(word):]
		if at > indent && at+len(blanks)+Width(word) > width {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			blanks, at = "", indent
		}
		b.WriteString(blanks + word)
		at += len(blanks) + Width(word)
	}
	return b.String()
}
