package top

import (
	"fmt"

	"github.com/gdamore/tcell/v2"
)

// command is what a key asks of the loop around the model.
type command int

const (
	goOn command = iota
	quit
	suspend
)

// helpText lists the keys. It is the same as in docs/top.md.
var helpText = [...]string{
	"q Ctrl-C   quit; here q, Esc or ? go back, arrows scroll",
	"space      freeze what is shown; sampling goes on",
	"arrows PgUp PgDn Home End   choose a row",
	"Enter      to the callers and callees; there Enter follows a call, left and",
	"           right change the list, Esc goes back",
	"s t c < >  sort by self, by total, by CPU, by the column before or behind",
	"/          search a name; / and Enter alone: the next one",
	"\\          filter: a regular expression, module:RE, thread:RE",
	"H          by thread, and back",
	"l          by line, and back",
	"i          with threads that wait in the kernel, or without",
	"v          native code as that of the function that called it, or apart",
	"z          since start, or the last window",
	"r          reset: forget what was seen",
	"+ -        more or fewer samples a second",
	"w          write what was seen as .html or .pb.gz",
	"?          this help",
}

// press takes one key.
func (m *model) press(ev *tcell.EventKey) command {
	m.message = ""
	switch {
	case m.prompt != nil:
		if p := m.prompt; p.press(ev) && m.prompt == p {
			m.prompt = nil
		}
		return goOn
	case m.help:
		return m.pressInHelp(ev)
	}
	if ev.Key() == tcell.KeyRune {
		return m.pressRune(ev.Rune())
	}
	return m.pressKey(ev.Key())
}

// pressInHelp scrolls the help; q, Esc and ? go back, and any other key too, which acts.
func (m *model) pressInHelp(ev *tcell.EventKey) command {
	page := max(1, m.helpHeight()-1)
	by := map[tcell.Key]int{tcell.KeyUp: -1, tcell.KeyDown: 1, tcell.KeyPgUp: -page, tcell.KeyPgDn: page,
		tcell.KeyHome: -len(helpText), tcell.KeyEnd: len(helpText)}[ev.Key()]
	if by != 0 {
		m.helpAt = max(0, min(m.helpAt+by, len(helpText)-m.helpHeight()))
		return goOn
	}
	m.help, m.helpAt = false, 0
	if ev.Key() == tcell.KeyEscape || ev.Key() == tcell.KeyRune && (ev.Rune() == '?' || ev.Rune() == 'q') {
		return goOn
	}
	if ev.Key() == tcell.KeyRune {
		return m.pressRune(ev.Rune())
	}
	return m.pressKey(ev.Key())
}

func (m *model) pressKey(key tcell.Key) command {
	switch key {
	case tcell.KeyCtrlC:
		return quit
	case tcell.KeyCtrlZ:
		return suspend
	case tcell.KeyUp:
		m.move(-1)
	case tcell.KeyDown:
		m.move(1)
	case tcell.KeyPgUp:
		m.move(-max(1, m.tableHeight()-1))
	case tcell.KeyPgDn:
		m.move(max(1, m.tableHeight()-1))
	case tcell.KeyHome:
		m.move(-1 << 30)
		if m.focus == onTable {
			m.held = false
		}
	case tcell.KeyEnd:
		m.move(1 << 30)
	case tcell.KeyEnter:
		m.enter()
	case tcell.KeyEscape:
		m.leave()
	case tcell.KeyLeft, tcell.KeyRight:
		m.otherList(key == tcell.KeyLeft)
	}
	return goOn
}

func (m *model) pressRune(r rune) command {
	switch r {
	case 'q':
		return quit
	case ' ':
		m.freeze()
	case 's':
		m.setView(func(v *view) { v.sort = SortSelf })
	case 't':
		m.setView(func(v *view) { v.sort = SortTotal })
	case 'c':
		m.setView(func(v *view) { v.sort = SortCPU })
	case '<':
		m.setView(func(v *view) { v.sort = max(SortSelf, v.sort-1) })
	case '>':
		m.setView(func(v *view) { v.sort = min(SortFile, v.sort+1) })
	case 'H':
		m.setView(func(v *view) { v.by = toggle(v.by, ByThread) })
	case 'l':
		m.setView(func(v *view) { v.by = toggle(v.by, ByLine) })
	case 'i':
		m.setView(func(v *view) { v.idle = !v.idle })
	case 'v':
		m.setView(func(v *view) { v.native = toggleNative(v.native) })
	case 'z':
		m.setView(func(v *view) { v.sinceBegin = !v.sinceBegin })
	case 'r':
		m.reset()
	case '+', '-':
		m.changeRate(r == '+')
	case '/':
		m.askSearch()
	case '\\':
		m.askFilter()
	case 'w':
		m.askWrite()
	case '?':
		m.help = true
	}
	return goOn
}

// toggleNative folds native code, or shows it where it is folded.
func toggleNative(v nativeView) nativeView {
	if v == nativeFolded {
		return nativeShown
	}
	return nativeFolded
}

// toggle gives by, or the grouping by function if it is that already.
func toggle(now, by Grouping) Grouping {
	if now == by {
		return ByFunction
	}
	return by
}

// move goes by so many rows in the list that has the focus.
func (m *model) move(by int) {
	if m.focus != onTable {
		m.callAt = max(0, min(m.callAt+by, len(m.callList())-1))
		return
	}
	m.at, m.held = m.at+by, true
	m.clamp()
	m.refreshCalls()
}

// enter goes from the table to the calls, and from a call to its row in the table.
func (m *model) enter() {
	if m.focus == onTable {
		m.pane, m.focus, m.callAt = true, onCallers, 0
		if m.view.by == ByThread {
			m.focus = onCallees
		}
		m.refreshCalls()
		return
	}
	if list := m.callList(); len(list) > 0 && list[m.callAt].id != noRow {
		if !m.choose(list[m.callAt].id) {
			m.message = "the filter hides it"
			return
		}
		m.callAt = 0
		m.refreshCalls()
	}
}

// leave goes back to the table.
func (m *model) leave() {
	m.focus, m.pane = onTable, false
	m.refreshCalls()
}

func (m *model) otherList(left bool) {
	if m.focus == onTable || m.view.by == ByThread {
		return
	}
	m.focus, m.callAt = onCallees, 0
	if left {
		m.focus = onCallers
	}
}

func (m *model) askSearch() {
	at, held := m.at, m.held
	m.prompt = &prompt{
		label: "search: ",
		change: func(text string) {
			m.at, m.held = at, held
			m.find(text, false)
		},
		done: func(text string, taken bool) {
			if !taken {
				m.at, m.held = at, held
				m.clamp()
				m.refreshCalls()
				return
			}
			next := text == ""
			if !next {
				m.search = text
			}
			if m.search != "" && !m.find(m.search, next) {
				m.message = fmt.Sprintf("no row matches %s", m.search)
			}
		},
	}
}

func (m *model) askFilter() {
	old := m.view.filter
	show := func(f filter) { m.setView(func(v *view) { v.filter = f }) }
	m.prompt = &prompt{
		label:  "filter: ",
		text:   []rune(old.text),
		change: func(text string) { show(parseFilter(text)) },
		done: func(_ string, taken bool) {
			if !taken {
				show(old)
			}
		},
	}
}

func (m *model) askWrite() {
	if m.opt.Write == nil {
		m.message = "writing is not possible here"
		return
	}
	m.prompt = &prompt{
		label: "write to: ",
		text:  []rune(m.opt.WriteTo),
		done: func(text string, taken bool) {
			if taken {
				m.write(text)
			}
		},
	}
}
