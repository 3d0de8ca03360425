package top

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/fpstack/fpstack/text"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

// simulated is a screen of that size in memory.
func simulated(t *testing.T, w, h int) tcell.SimulationScreen {
	t.Helper()
	s := tcell.NewSimulationScreen("UTF-8")
	if err := s.Init(); err != nil {
		t.Fatal(err)
	}
	s.SetSize(w, h)
	return s
}

// cells shows what is on the screen, and below it how: a letter a cell, blank for plain.
func cells(s tcell.SimulationScreen) string {
	contents, w, h := s.GetContents()
	styles := map[tcell.Style]byte{}
	for i, style := range inksFor(s, false) {
		if _, ok := styles[style]; !ok {
			styles[style] = " Sf=Hcbwrg"[i]
		}
	}
	var drawn, dress strings.Builder
	for y := range h {
		for x := range w {
			c := contents[y*w+x]
			if x > 0 && len(string(contents[y*w+x-1].Runes)) > 2 && string(c.Runes) == " " &&
				text.Width(string(contents[y*w+x-1].Runes)) == 2 {
				continue // the second cell of a wide character
			}
			drawn.WriteString(string(c.Runes))
			dress.WriteByte(styles[c.Style])
		}
		drawn.WriteString("|\n")
		dress.WriteString("|\n")
	}
	return drawn.String() + "\n" + dress.String()
}

// golden compares got with a file of testdata, or writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

var testStats = Stats{Wanted: 99, Reached: 98.7, PauseP50: 21 * time.Microsecond, PauseMax: 412 * time.Microsecond,
	Stood:   0.0021,
	Threads: 3, Ticks: 990, Late: 10, Samples: 2970, Lost: 30, Walked: 500, Cut: 60,
	Notes: []string{"could not follow process 99: setuid"}}

// hostileNames is a profile whose names would like to do harm, or are hard to fit.
func hostileNames() []spent {
	return []spent{
		{"main@/bin/prog@m.c:1;\x1b[2J\x1b]0,owned\a@/lib/\x1b[31m.so@\u202e/x.c:1", "a", 500 * msec},
		{"main@/bin/prog@m.c:1;std::vector<std::pair<int, int>, " +
			"std::allocator<int>>::emplace_back<int>(int&&)@/usr/lib/libverylongname.so.1.2.3@" +
			"/usr/include/c++/12/bits/vector.tcc:123",
			"a", 300 * msec},
		{"main@/bin/prog@m.c:1;日本語の関数名::漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字@/bin/日本@漢字.c:7",
			"a", 200 * msec},
	}
}

// picture draws m on a screen of that size.
func picture(t *testing.T, m *model, w, h int) string {
	t.Helper()
	s := simulated(t, w, h)
	defer s.Fini()
	u := &ui{screen: s, model: m, inks: inksFor(s, m.opt.Plain)}
	u.draw()
	return cells(s)
}

func TestPictures(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 10}, {300, 80}} {
		for _, tc := range []struct{ name, keys string }{
			{"table", ""}, {"calls", "<down><enter><down>"}, {"threads", "Hi"}, {"help", "?"},
			{"filter", "\\thread:a le"},
			{"frozen", " l"},
		} {
			m := newModel(Options{Title: "7 prog --flag"}.withDefaults())
			m.width, m.height = size[0], size[1]
			for i := range 10 {
				p := program()
				if i > 7 {
					p = testProfile(append(hostileNames(), spent{"main@/bin/prog@m.c:1;leaf@/lib/libx.so.1@x.c:5", "a",
						200 * msec},
						spent{"main@/bin/prog;[epoll_wait]", "b", time.Second})...)
				}
				m.take(p, time.Duration(i+1)*time.Second, testStats)
			}
			typed(t, m, tc.keys)
			golden(t, fmt.Sprintf("%s-%dx%d.txt", tc.name, size[0], size[1]), picture(t, m, size[0], size[1]))
		}
	}
}

// TestEverySize: no size of terminal is too small, and nothing is drawn outside of it.
func TestEverySize(t *testing.T) {
	m := modelOf(t, Options{Title: "7 prog"},
		testProfile(append(hostileNames(), spent{"a;b;[read]", "b", time.Second})...))
	for _, h := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 24} {
		for w := 1; w < 130; w += 1 + w/3 {
			for _, keys := range []string{"", "?", "?<end>", "<enter><right><end>", "<esc>H", "<enter>",
				"<esc>H\\long text that is more than fits<esc>", "i"} {
				typed(t, m, keys)
				picture(t, m, w, h)
				if got := len(m.lines()); got != h {
					t.Fatalf("%dx%d after %q: %d lines", w, h, keys, got)
				}
			}
		}
	}
}

// TestNamesReachNoTerminal: nothing that is drawn holds a control character.
func TestNamesReachNoTerminal(t *testing.T) {
	for _, keys := range []string{"", "<enter>", "l", "i", "\\zzz<enter>"} {
		m := modelOf(t, Options{Title: "7 \x1b[31mprog\n"},
			testProfile(append(hostileNames(), spent{"main;[re\x1bad]", "\x1b[1mthread\a", time.Second})...))
		m.problem("take \x1b[5m")
		m.comments = []string{"note \u202e"}
		typed(t, m, keys)
		for _, by := range []string{"", "H"} {
			typed(t, m, by)
			for y, l := range m.lines() {
				for _, s := range l {
					if text.Message(s.text) != s.text {
						t.Errorf("keys %q: line %d holds %q", keys+by, y, s.text)
					}
				}
			}
		}
	}
}

// TestScrolling: the chosen row is on the screen wherever it is.
func TestScrolling(t *testing.T) {
	var list []spent
	for i := range 100 {
		list = append(list, spent{fmt.Sprintf("main;f%02d", i), "a", time.Duration(100-i) * sampleEvery})
	}
	m := modelOf(t, Options{}, testProfile(list...))
	for _, tc := range []struct{ keys, first, chosen string }{
		{"", "f00", "f00"},
		{"<pgdn>", "f00", "f10"},      // 11 rows fit
		{"<down>", "f01", "f11"},      //
		{"<up><up>", "f01", "f09"},    //
		{"<end>", "f90", "main"},      // main has no own time: it is the last
		{"<pgup>", "f90", "f90"},      //
		{"<pgup>", "f80", "f80"},      //
		{"/f55<enter>", "f55", "f55"}, //
		{"/f70<enter>", "f60", "f70"}, //
		{"<home>", "f00", "f00"},      //
		{"<end>r", "no sample", ""},   //
	} {
		typed(t, m, tc.keys)
		l := fit(80, &view{})
		if got := m.tableLines(&l)[0][0].text; chosenName(m) != tc.chosen || !strings.Contains(got, tc.first) &&
			tc.chosen != "" {
			t.Errorf("after %q: first line %q, chosen %q, want %s and %s", tc.keys, got, chosenName(m),
				tc.first, tc.chosen)
		}
	}
}

func TestColours(t *testing.T) {
	s := simulated(t, 10, 5)
	defer s.Fini()
	for i, style := range inksFor(s, true) {
		if fg, bg, _ := style.Decompose(); fg != tcell.ColorDefault || bg != tcell.ColorDefault {
			t.Errorf("ink %d has a colour without colours", i)
		}
	}
	if fg, _, _ := inksFor(s, false)[bad].Decompose(); fg == tcell.ColorDefault {
		t.Error("with colours nothing is red")
	}
}
