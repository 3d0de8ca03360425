package top

import (
	"fmt"
	"path"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Widths of the columns with numbers, in cells.
const (
	percentCells = 6
	valueCells   = 7
)

// layout says which columns the table has and how wide they are.
type layout struct {
	cpu                bool // CPU%
	values             bool // SELF and TOTAL
	name, module, file int  // 0: not shown
	left               bool // nothing is cut: widths are those of the text
}

// fit chooses the columns for a terminal. Narrow ones lose places first, then times.
func fit(cells int, v *view) layout {
	l := layout{values: cells >= 60, cpu: v.showsCPU()}
	rest := cells - (percentCells + 1 + percentCells + 2)
	if l.cpu {
		rest -= percentCells + 1
	}
	if l.values {
		rest -= 2 * (valueCells + 1)
	}
	l.name = max(1, rest)
	if cells >= 72 && v.by != ByThread {
		l.module = min(max(rest/5, 8), 24)
		l.file = min(max(3*rest/10, 12), 40)
		l.name = rest - l.module - l.file - 2
	}
	return l
}

// fitAll is for text without a width: columns are as wide as the rows need.
func fitAll(rows []row, v *view) layout {
	const most = 60 // wider names push their own line aside
	l := layout{values: true, cpu: v.showsCPU(), left: true, name: len("FUNCTION")}
	for i := range rows {
		l.name = min(most, max(l.name, text.Width(text.Escape(rows[i].label()))))
		if v.by != ByThread {
			l.module = min(most, max(l.module, text.Width(rowModule(&rows[i]))))
			l.file = min(most, max(l.file, text.Width(rowPlace(&rows[i]))))
		}
	}
	if l.module > 0 || l.file > 0 {
		l.module, l.file = max(l.module, len("MODULE")), max(l.file, len("FILE:LINE"))
	}
	return l
}

// heading is the line above the rows, with the column that orders them in another ink.
func (l *layout) heading(v *view) line {
	name := "FUNCTION"
	if v.by == ByThread {
		name = "THREAD"
	}
	titles := l.join("SELF%", "TOTAL%", " ", "CPU%", "SELF", "TOTAL", name, "MODULE", "FILE:LINE")
	word := [...]string{"SELF%", "TOTAL%", "CPU%", name, "MODULE", "FILE:LINE"}[v.sort]
	before, after, found := strings.Cut(titles, word)
	if !found {
		return line{{titles, bar}}
	}
	return line{{before, bar}, {word, barSorted}, {after, bar}}
}

// showsCPU reports whether rows say how much of a CPU they used.
func (v *view) showsCPU() bool { return v.by == ByThread || v.sort == SortCPU }

// rowText is the line of one row.
func (l *layout) rowText(r *row, t *table, unit profile.ValueType) string {
	name, module, place := text.Escape(r.label()), rowModule(r), rowPlace(r)
	if !l.left {
		name, module, place = text.Shorten(name, l.name), text.ShortenEnd(module, l.module),
			text.ShortenPath(place, l.file)
	}
	mark := [...]string{"-", " ", "+"}[r.trend+1]
	return l.join(t.cell(r.self), t.cell(r.total), mark, t.cpuCell(r.self.cpu),
		value(r.self.value, unit), value(r.total.value, unit), name, module, place)
}

// join sets the columns side by side.
func (l *layout) join(selfShare, totalShare, mark, cpu, self, total, name, module, place string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%*s %*s%s ", percentCells, selfShare, percentCells, totalShare, mark)
	if l.cpu {
		b.WriteString(text.PadLeft(cpu, percentCells) + " ")
	}
	if l.values {
		b.WriteString(text.PadLeft(self, valueCells) + " " + text.PadLeft(total, valueCells) + " ")
	}
	b.WriteString(text.Pad(name, l.name))
	if l.module > 0 {
		b.WriteString(" " + text.Pad(module, l.module) + " " + text.Pad(place, l.file))
	}
	return strings.TrimRight(b.String(), " ")
}

func rowModule(r *row) string {
	if r.module == "" {
		return ""
	}
	return text.Escape(path.Base(r.module))
}

// rowPlace is FILE:LINE; "" if the file is not known.
func rowPlace(r *row) string {
	if r.file == "" {
		return ""
	}
	if r.line == 0 {
		return text.Escape(r.file)
	}
	return fmt.Sprintf("%s:%d", text.Escape(r.file), r.line)
}

// rowInk says what sort of row it is.
func rowInk(r *row) ink {
	switch {
	case r.waits:
		return waits
	case r.trend == Rising:
		return rises
	case r.trend == Falling:
		return falls
	}
	return plain
}
