package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// focus is where the arrow keys move.
type focus int

const (
	onTable focus = iota
	onCallers
	onCallees
)

// Lists below the table show up by themselves only on a terminal of so many lines.
const paneLines = 16

// model is the whole state of the table. It knows no terminal: keys and takes go in, lines
// come out.
type model struct {
	opt      Options
	store    *store // nil before the first take
	stats    Stats
	ran      int // threads that ran in the last take
	gone     int // threads that have ended
	comments []string
	problems []string
	ended    bool
	frozen   *data // what is shown while frozen

	view  view
	table *table
	calls *calls

	// The chosen row is the one at index at. Once a person has moved to it, it is found
	// again by its id after each take; before that the first row is the chosen one.
	at, first int
	held      bool
	focus     focus
	callAt    int
	pane      bool // the lists below are open on a small terminal
	help      bool
	helpAt    int // its first line that is shown
	prompt    *prompt
	message   string
	search    string

	width, height int
}

func newModel(opt Options) *model {
	m := &model{opt: opt, width: 80, height: 24}
	m.view = view{by: opt.By, sort: opt.Sort, idle: opt.Idle, sinceBegin: opt.SinceBegin,
		native: opt.native(), filter: parseFilter(opt.Filter)}
	m.refresh()
	return m
}

// take merges a profile that was taken at that time since the begin.
func (m *model) take(p *profile.Profile, at time.Duration, stats Stats) {
	m.stats = stats
	if err := p.CheckValid(); err != nil {
		m.problem(err.Error())
		return
	}
	m.ran, m.comments = countRan(p), p.Comments
	if m.store == nil {
		m.store = newStore(0, p.Types, m.opt.limit)
	}
	if m.store.fills(1) {
		m.startAnew()
	}
	if err := m.store.add(p, at, m.opt.Window); err != nil {
		m.problem(err.Error())
	}
	m.gone = m.countGone()
	m.refresh()
}

// startAnew gives up what is older than the window, or all where the window alone is too large.
func (m *model) startAnew() {
	m.store = m.store.compact()
	if m.store.fills(2) {
		m.store = newStore(m.store.now, m.store.profile().Types, m.opt.limit)
	}
	m.problem("too many different stacks: since start counts from " + text.Duration(m.store.begin))
	if m.frozen == nil {
		m.at, m.held = 0, false
	}
}

// problem shows something above the table, once.
func (m *model) problem(text string) {
	for _, old := range m.problems {
		if old == text {
			return
		}
	}
	m.problems = append(m.problems, text)
}

// countGone is how many of the threads seen since the begin live no more.
func (m *model) countGone() int {
	seen := map[int]bool{}
	for _, t := range m.store.profile().Tasks {
		seen[t.TID] = true
	}
	return max(0, len(seen)-m.stats.Threads)
}

// countRan counts the threads of p that did something else than wait in the kernel.
func countRan(p *profile.Profile) int {
	shown, ran := p.Default, map[int]bool{}
	cpu := p.TypeIndex(profile.CPUTime.Type)
	for i, s := range p.Samples {
		v := p.Value(i)
		if cpu >= 0 && v[cpu] > 0 || v[shown] > 0 && !isIdle(p, s.Stack) {
			ran[s.Task] = true
		}
	}
	return len(ran)
}

// data is what is shown, nil before the first take.
func (m *model) data() *data {
	switch {
	case m.frozen != nil:
		return m.frozen
	case m.store == nil:
		return nil
	}
	return m.store.data(m.opt.Window)
}

// shown is data as native code is viewed. That stays folded once it was: a table that changes its rows from second to
// second cannot be read.
func (m *model) shown() *data {
	d := m.data()
	if d == nil {
		return nil
	}
	if m.view.native == nativeByShare && d.p.MostlyLanguage() {
		m.view.native = nativeFolded
	}
	if m.view.native == nativeFolded {
		return d.folded()
	}
	return d
}

// refresh sums up again what is shown, after a take or a key that changes the view.
func (m *model) refresh() {
	chosen, had := m.chosenRow()
	m.table = &table{}
	if d := m.shown(); d != nil {
		m.table = d.table(&m.view)
	}
	if !m.held {
		m.at = 0
	} else if had {
		m.choose(chosen.id)
	}
	m.clamp()
	m.refreshCalls()
}

// choose moves to the row of that id, if it is there.
func (m *model) choose(id rowID) bool {
	for i := range m.table.rows {
		if m.table.rows[i].id == id {
			m.at, m.held = i, true
			return true
		}
	}
	return false
}

func (m *model) clamp() {
	m.at = max(0, min(m.at, len(m.table.rows)-1))
}

func (m *model) chosenRow() (row, bool) {
	if m.table == nil || m.at >= len(m.table.rows) {
		return row{}, false
	}
	return m.table.rows[m.at], true
}

func (m *model) refreshCalls() {
	m.calls = nil
	if r, ok := m.chosenRow(); ok && m.paneHeight() > 0 {
		m.calls = m.shown().calls(&m.view, r)
	}
	m.callAt = max(0, min(m.callAt, len(m.callList())-1))
}

// callList is the list that has the focus, nil for none.
func (m *model) callList() []call {
	switch {
	case m.calls == nil:
		return nil
	case m.focus == onCallers:
		return m.calls.callers
	case m.focus == onCallees:
		return m.calls.callees
	}
	return nil
}

// setView changes what is shown.
func (m *model) setView(change func(*view)) {
	by := m.view.by
	change(&m.view)
	if m.view.by != by { // ids of rows mean something else
		m.at, m.held, m.focus = 0, false, onTable
	}
	m.refresh()
}

// freeze stops what is shown or lets it go on.
func (m *model) freeze() {
	if m.frozen != nil {
		if m.frozen.store != m.store { // ids of rows mean something else
			m.at, m.held, m.focus = 0, false, onTable
		}
		m.frozen = nil
	} else if m.store != nil {
		m.frozen = m.store.data(m.opt.Window).freeze()
	}
	m.refresh()
}

// reset forgets all that was taken.
func (m *model) reset() {
	if m.store != nil {
		m.store = newStore(m.store.now, m.store.profile().Types, m.opt.limit)
	}
	m.frozen, m.problems, m.at, m.held = nil, nil, 0, false
	m.refresh()
}

// write gives what was seen so far, or since the reset, to the caller of Run.
func (m *model) write(path string) {
	switch {
	case path == "":
		return
	case m.store == nil:
		m.message = "nothing was seen yet"
		return
	}
	p := *m.store.profile()
	p.Duration = m.store.now - m.store.begin
	p.Comments = (&headData{stats: m.stats, problems: m.problems, comments: m.comments}).missing()
	path, err := m.opt.Write(path, &p)
	if err != nil {
		m.message = "not written: " + err.Error()
		return
	}
	m.message = "wrote " + path
}

// changeRate goes to the next rate in steps, up or down.
func (m *model) changeRate(up bool) {
	if m.opt.SetRate == nil {
		m.message = "the rate is fixed"
		return
	}
	hz := nextRate(m.stats.Wanted, up)
	if err := m.opt.SetRate(hz); err != nil {
		m.message = err.Error()
		return
	}
	m.stats.Wanted = hz
	m.message = fmt.Sprintf("%s samples a second from now on", rate(hz))
}

// rates are odd so that they do not march in step with timers of the target.
var rates = [...]float64{1, 5, 11, 19, 49, 99, 199, 499, 997, 1999, 4999}

func nextRate(now float64, up bool) float64 {
	if now <= 0 {
		return rates[len(rates)-1]
	}
	if up {
		for _, r := range rates {
			if r > now {
				return r
			}
		}
		return now
	}
	next := rates[0]
	for _, r := range rates {
		if r < now {
			next = r
		}
	}
	return next
}

// find moves to the next row whose name matches text, from the row after the chosen one or
// from that itself, around the end.
func (m *model) find(text string, next bool) bool {
	if text == "" {
		return false
	}
	re, from := pattern(text), m.at
	if next {
		from++
	}
	n := len(m.table.rows)
	for i := range n {
		k := (from + i) % n
		r := &m.table.rows[k]
		if re.MatchString(r.name) || strings.HasPrefix(rowPlace(r), text) {
			m.at, m.held = k, true
			m.refreshCalls()
			return true
		}
	}
	return false
}
