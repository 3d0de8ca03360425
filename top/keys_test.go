package top

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/fpstack/fpstack/profile"
)

// typed presses keys: letters as they are, others by name in <>, with << for <.
func typed(t *testing.T, m *model, text string) command {
	t.Helper()
	named := map[string]tcell.Key{"up": tcell.KeyUp, "down": tcell.KeyDown, "pgup": tcell.KeyPgUp,
		"pgdn": tcell.KeyPgDn,
		"home": tcell.KeyHome,
		"end":  tcell.KeyEnd, "enter": tcell.KeyEnter, "esc": tcell.KeyEscape, "left": tcell.KeyLeft,
		"right": tcell.KeyRight,
		"bs":    tcell.KeyBackspace2, "^c": tcell.KeyCtrlC, "^u": tcell.KeyCtrlU, "^z": tcell.KeyCtrlZ}
	last := goOn
	for text != "" {
		ev := tcell.NewEventKey(tcell.KeyRune, rune(text[0]), tcell.ModNone)
		rest := text[1:]
		if strings.HasPrefix(text, "<<") {
			rest = text[2:]
		} else if name, after, ok := strings.Cut(text[1:], ">"); ok && text[0] == '<' {
			key, known := named[name]
			if !known {
				t.Fatalf("no key <%s>", name)
			}
			ev, rest = tcell.NewEventKey(key, 0, tcell.ModNone), after
		}
		last, text = m.press(ev), rest
	}
	return last
}

// chosenName is the name of the row that keys act on.
func chosenName(m *model) string {
	r, _ := m.chosenRow()
	return r.name
}

// TestKeys: rows of program by own time are leaf, fib, work, main.
func TestKeys(t *testing.T) {
	for _, tc := range []struct {
		name, keys string
		want       string // the chosen row
		check      func(m *model) bool
	}{
		{"down and up", "<down><down><up>", "fib", nil},
		{"not beyond the end", "<down><down><down><down><down>", "main", nil},
		{"not beyond the begin", "<up>", "leaf", nil},
		{"end, home", "<end><home>", "leaf", func(m *model) bool { return !m.held }},
		{"page down", "<pgdn>", "main", nil},
		{"total", "t", "main", func(m *model) bool { return m.view.sort == SortTotal }},
		{"total and back", "ts", "leaf", nil},
		{"CPU", "c", "leaf", func(m *model) bool { return m.view.sort == SortCPU }},
		{"the column behind", ">>>", "fib", func(m *model) bool { return m.view.sort == SortName }},
		{"the column before", "><<", "leaf", func(m *model) bool { return m.view.sort == SortSelf }},
		{"no column before the first", "<<<<<<>", "main", func(m *model) bool { return m.view.sort == SortTotal }},
		{"no column behind the last", ">>>>>>>", "fib", func(m *model) bool { return m.view.sort == SortFile }},
		{"a chosen row stays chosen", "<down>t", "fib", func(m *model) bool { return m.at == 3 }},
		{"by thread", "H", "prog/a 100", nil},
		{"by thread and back", "HH", "leaf", nil},
		{"by line", "l", "leaf", func(m *model) bool { return len(m.table.rows) == 9 }},
		{"waits", "i", "futex", nil},
		{"waits and back", "ii", "leaf", nil},
		{"since start", "z", "leaf", func(m *model) bool { return m.view.sinceBegin }},
		{"search", "/wo<enter>", "work", nil},
		{"search live", "/wo", "work", func(m *model) bool { return m.prompt != nil }},
		{"search, deleted again", "/wo<bs><bs>", "leaf", nil},
		{"search given up", "<down>/wo<esc>", "fib", func(m *model) bool { return m.prompt == nil }},
		{"next of two", "/[ai]<enter>/<enter>", "fib", nil},
		{"next goes around", "/[ai]<enter>/<enter>/<enter>/<enter>", "leaf", nil},
		{"search without a match", "/zzz<enter>", "leaf",
			func(m *model) bool { return m.message == "no row matches zzz" }},
		{"search takes keys as text", "/q", "leaf", func(m *model) bool { return string(m.prompt.text) == "q" }},
		{"filter", "\\wor<enter>", "work", func(m *model) bool { return len(m.table.rows) == 1 }},
		{"filter taken back", "\\wor<enter>\\<^u><enter>", "leaf",
			func(m *model) bool { return len(m.table.rows) == 4 }},
		{"filter given up", "\\wor<esc>", "leaf", func(m *model) bool { return len(m.table.rows) == 4 }},
		{"Ctrl-C leaves the prompt alone", "\\wor<^c>", "leaf",
			func(m *model) bool { return m.prompt == nil && len(m.table.rows) == 4 }},
		{"help", "?", "leaf", func(m *model) bool { return m.help }},
		{"help scrolls", "?<down>", "leaf", func(m *model) bool { return m.help }},
		{"help shut by q", "?q", "leaf", func(m *model) bool { return !m.help }},
		{"help shut by another key, which acts", "?H", "prog/a 100", func(m *model) bool { return !m.help }},
		{"help twice", "??", "leaf", func(m *model) bool { return !m.help }},
		{"into the callers", "<enter>", "leaf", func(m *model) bool { return m.focus == onCallers }},
		{"to the first caller", "<enter><enter>", "main", nil},
		{"to the second caller", "<enter><down><enter>", "work", nil},
		{"from caller to its callee", "<enter><enter><right><down><enter>", "work", nil},
		{"nothing calls the root", "<end><enter><enter>", "main", nil},
		{"out again", "<enter><esc><down>", "fib", func(m *model) bool { return m.focus == onTable }},
		{"reset", "r", "", func(m *model) bool { return len(m.table.rows) == 0 && m.store.profile().Tree.Len() == 1 }},
		{"a key without meaning", "X", "leaf", nil},
		{"no rate to change", "+", "leaf", func(m *model) bool { return m.message == "the rate is fixed" }},
		{"nowhere to write", "w", "leaf", func(m *model) bool { return m.prompt == nil && m.message != "" }},
	} {
		m := modelOf(t, Options{}, program())
		if got := typed(t, m, tc.keys); got != goOn {
			t.Errorf("%s: %q asks for %v", tc.name, tc.keys, got)
		}
		if got := chosenName(m); got != tc.want {
			t.Errorf("%s: after %q %q is chosen, want %q", tc.name, tc.keys, got, tc.want)
		}
		if tc.check != nil && !tc.check(m) {
			t.Errorf("%s: after %q: %+v, message %q", tc.name, tc.keys, m.view, m.message)
		}
	}
}

func TestKeysThatEnd(t *testing.T) {
	for keys, want := range map[string]command{"q": quit, "<^c>": quit, "<^z>": suspend, "?qq": quit, "?<^c>": quit,
		"/x<esc>q": quit, "<enter>q": quit} {
		if got := typed(t, modelOf(t, Options{}, program()), keys); got != want {
			t.Errorf("%q: got %v, want %v", keys, got, want)
		}
	}
}

// TestBeforeTheFirstTake: every key finds nothing, and none fails.
func TestBeforeTheFirstTake(t *testing.T) {
	for _, keys := range []string{"<down>", "<end>", "<pgdn>", "<enter><enter><esc>", "s", "t", ">", "H", "l", "i", "z",
		"r", "+", "-", " ", "/x<enter>/<enter>", "\\x<enter>", "w", "?", "H<enter><enter>"} {
		m := newModel(Options{}.withDefaults())
		typed(t, m, keys)
		if got := len(m.lines()); got != 24 {
			t.Errorf("after %q: got %d lines, want 24", keys, got)
		}
	}
}

func TestFreeze(t *testing.T) {
	m := modelOf(t, Options{}, program())
	before := rowsText(m.table.rows)
	typed(t, m, "<down> ")
	m.take(second(spent{"main;new", "a", 9 * time.Second}), 2*time.Second, Stats{Samples: 5})
	if got := rowsText(m.table.rows); !slices.Equal(got, before) {
		t.Errorf("frozen: got %q, want %q", got, before)
	}
	typed(t, m, "z")
	if got := rowsText(m.table.rows); !slices.Equal(got, before) {
		t.Errorf("frozen, since start: got %q, want %q", got, before)
	}
	typed(t, m, "zt\\fib<enter>") // what is frozen can be sorted and searched
	if got, want := rowsText(m.table.rows), []string{"fib 200 200"}; !slices.Equal(got, want) {
		t.Errorf("frozen, filtered: got %q, want %q", got, want)
	}
	typed(t, m, "\\<^u><enter>s ")
	if got := chosenName(m); got != "fib" {
		t.Errorf("going on: %q is chosen, want fib, which was", got)
	}
	if got := m.table.rows[0].name; got != "new" {
		t.Errorf("going on: the first row is %q, want new", got)
	}
	if m.stats.Samples != 5 {
		t.Error("the head does not change while frozen")
	}
}

// TestFrozenWhileTheStoreIsGivenUp: ids of rows mean something else afterwards.
func TestFrozenWhileTheStoreIsGivenUp(t *testing.T) {
	m := modelOf(t, Options{}, program())
	typed(t, m, "<down> ")
	before := rowsText(m.table.rows)
	m.startAnew()
	m.take(second(spent{"other;new", "a", time.Second}), 12*time.Second, Stats{})
	if got := rowsText(m.table.rows); !slices.Equal(got, before) || chosenName(m) != "fib" {
		t.Errorf("frozen: got %q, %q chosen, want %q, fib", got, chosenName(m), before)
	}
	typed(t, m, " ")
	if got := chosenName(m); got != "new" || m.held {
		t.Errorf("going on: got %q, want new", got)
	}
}

func TestRate(t *testing.T) {
	var rates []float64
	m := modelOf(t, Options{SetRate: func(hz float64) error {
		rates = append(rates, hz)
		if hz > 500 {
			return errors.New("too fast")
		}
		return nil
	}}, program())
	m.stats.Wanted = 99
	typed(t, m, "+++---")
	// 199, 499, 997 is refused, then down from 499.
	if want := []float64{199, 499, 997, 199, 99, 49}; !slices.Equal(rates, want) {
		t.Errorf("got %v, want %v", rates, want)
	}
	for _, tc := range []struct {
		now  float64
		up   bool
		want float64
	}{{0, true, 4999}, {0, false, 4999}, {100, true, 199}, {100, false, 99}, {1, false, 1}, {4999, true, 4999},
		{20000, true, 20000}, {20000, false, 4999}} {
		if got := nextRate(tc.now, tc.up); got != tc.want {
			t.Errorf("from %v, up %v: got %v, want %v", tc.now, tc.up, got, tc.want)
		}
	}
}

func TestWrite(t *testing.T) {
	var name string
	var got *profile.Profile
	opt := Options{WriteTo: "out.html", Write: func(n string, p *profile.Profile) (string, error) {
		if n == "bad" {
			return "", errors.New("disk\x1b full")
		}
		name, got = n, p
		return "out-2.html", p.CheckValid()
	}}
	m := modelOf(t, opt, program(), program())
	typed(t, m, "w<enter>")
	if name != "out.html" || m.message != "wrote out-2.html" {
		t.Fatalf("wrote to %q, message %q", name, m.message)
	}
	// Twice program: 2 x 22 samples of 100 ms.
	if sums := got.Totals(); !slices.Equal(sums, []int64{440, int64(4400 * msec)}) || got.Duration != 2*time.Second {
		t.Errorf("got totals %v in %v, want 440, 4.4 s in 2 s", sums, got.Duration)
	}
	typed(t, m, "w<^u>bad<enter>")
	if text := m.lastLine()[0].text; text != `not written: disk\x1b full` {
		t.Errorf("got %q", text)
	}
	name = ""
	typed(t, m, "w<esc>")
	typed(t, m, "w<^u><enter>")
	if name != "" {
		t.Errorf("given up, and wrote to %q", name)
	}
}
