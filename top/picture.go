package top

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// headHeight is the lines above the rows, the table's heading included.
const headHeight = 4

// paneHeight is the lines of the lists of calls, their heading included; 0 if they are shut.
func (m *model) paneHeight() int {
	body := m.height - headHeight - 1
	switch {
	case m.height >= paneLines:
		return m.height / 3
	case m.pane && body >= 4:
		return body / 2
	}
	return 0
}

// tableHeight is the lines of rows.
func (m *model) tableHeight() int {
	return max(0, m.height-headHeight-1-m.paneHeight())
}

// lines is the whole picture, m.height lines.
func (m *model) lines() []line {
	list := m.head().headLines(m.width)
	l := fit(m.width, &m.view)
	heading := l.heading(&m.view)
	list = append(list, append(heading, span{strings.Repeat(" ", max(0, m.width-lineWidth(heading))), bar}))
	if m.help {
		list = append(list, helpLines()[min(m.helpAt, len(helpText)):]...)
		list = fill(list, m.height-1)
	} else {
		list = append(list, m.tableLines(&l)...)
		list = append(fill(list, headHeight+m.tableHeight()), m.paneLines()...)
		list = fill(list, m.height-1)
	}
	return append(list, m.lastLine())[:max(0, m.height)]
}

// fill makes list n lines long, and at least cuts it to them.
func fill(list []line, n int) []line {
	n = max(0, n)
	for len(list) < n {
		list = append(list, nil)
	}
	return list[:n]
}

// helpHeight is the lines that the help has.
func (m *model) helpHeight() int { return max(1, m.height-headHeight-2) }

func helpLines() []line {
	var list []line
	for _, help := range helpText {
		list = append(list, line{{help, plain}})
	}
	return list
}

func (m *model) head() *headData {
	h := &headData{title: m.opt.Title, stats: m.stats, view: m.view, table: m.table, ran: m.ran, gone: m.gone,
		windowText: m.opt.Window.String(), frozen: m.frozen != nil, problems: m.problems, comments: m.comments}
	h.valueType = m.valueType()
	return h
}

func (m *model) valueType() profile.ValueType {
	if d := m.data(); d != nil {
		p := d.store.profile()
		return p.Types[p.Default]
	}
	return profile.ValueType{Type: "starting"}
}

// tableLines are the rows around the chosen one.
func (m *model) tableLines(l *layout) []line {
	rows, height := m.table.rows, m.tableHeight()
	if len(rows) == 0 {
		return []line{{{m.emptyText(), faint}}}
	}
	m.first = max(0, min(m.first, m.at, len(rows)-height))
	m.first = max(m.first, m.at-height+1)
	var list []line
	for i := m.first; i < min(len(rows), m.first+height); i++ {
		r := &rows[i]
		s := span{l.rowText(r, m.table, m.valueType()), rowInk(r)}
		if i == m.at && m.focus == onTable {
			s = span{text.Pad(s.text, m.width), chosen}
		}
		list = append(list, line{s})
	}
	return list
}

// emptyText says why there are no rows.
func (m *model) emptyText() string {
	switch {
	case m.store == nil:
		return "no sample yet"
	case m.view.filter.text != "":
		return "nothing matches the filter"
	case m.table.waiting > 0:
		return fmt.Sprintf("all %d threads wait in the kernel; i shows where", m.table.waiting)
	}
	return "no time was spent"
}

// paneLines are the callers and callees, side by side if there is room.
func (m *model) paneLines() []line {
	height := m.paneHeight()
	if height == 0 {
		return nil
	}
	if m.calls == nil {
		return fill(nil, height)
	}
	callers := listTitle{"callers of ", m.calls.of.label(), m.calls.callers, onCallers}
	callees := listTitle{"callees of ", m.calls.of.label(), m.calls.callees, onCallees}
	if m.view.by == ByThread {
		callees.label = "functions of "
		return m.callLines(&callees, m.width, height)
	}
	if m.width < 60 { // one list alone, that with the focus
		if m.focus == onCallees {
			return m.callLines(&callees, m.width, height)
		}
		return m.callLines(&callers, m.width, height)
	}
	half := (m.width - 1) / 2
	left, right := m.callLines(&callers, half, height), m.callLines(&callees, m.width-half-1, height)
	for i := range left {
		gap := half - lineWidth(left[i]) + 1
		left[i] = append(append(left[i], span{strings.Repeat(" ", max(0, gap)), plain}), right[i]...)
	}
	return left
}

// listTitle is one list of calls with what is above it.
type listTitle struct {
	label, name string
	calls       []call
	focus       focus
}

// callLines shows one list in height lines of cells.
func (m *model) callLines(t *listTitle, cells, height int) []line {
	title := t.label + text.Shorten(text.Escape(t.name), max(1, cells-len(t.label)))
	list := []line{{{text.Pad(title, cells), bar}}}
	at, first := -1, 0
	if m.focus == t.focus {
		at = m.callAt
		first = max(0, at-height+2)
	}
	for i := first; i < len(t.calls) && len(list) < height; i++ {
		c := &t.calls[i]
		share := text.PadLeft(m.table.cell(c.got), percentCells) + " "
		s := span{share + text.Shorten(text.Escape(c.name), max(1, cells-len(share))), plain}
		if c.waits {
			s.ink = waits
		}
		if i == at {
			s = span{text.Pad(s.text, cells), chosen}
		}
		list = append(list, line{s})
	}
	return fill(list, height)
}

func lineWidth(l line) int {
	sum := 0
	for _, s := range l {
		sum += text.Width(s.text)
	}
	return sum
}

// lastLine is the prompt, else a message, else the most wanted keys.
func (m *model) lastLine() line {
	switch {
	case m.prompt != nil:
		typed := text.Escape(string(m.prompt.text))
		for over := text.Width(m.prompt.label) + text.Width(typed) + 1 - m.width; over > 0 && typed != ""; over-- {
			_, n := firstCell(typed)
			typed = typed[n:]
		}
		return line{{m.prompt.label, strong}, {typed, plain}, {" ", chosen}}
	case m.message != "":
		return line{{text.Message(m.message), strong}}
	}
	if m.width < 75 {
		return line{{"q quit  space freeze  ? keys", faint}}
	}
	return line{{"q quit  space freeze  / search  \\ filter  Enter calls  i idle  ? all keys", faint}}
}

// firstCell is the first piece of s that stays together, and its bytes.
func firstCell(s string) (piece string, n int) {
	text.EachCell(s, func(p string, _ int) bool { piece, n = p, len(p); return false })
	return piece, max(1, n)
}
