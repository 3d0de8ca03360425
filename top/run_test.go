package top

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/fpstack/fpstack/profile"
)

// patience bounds every wait. Only a test that fails uses it up.
const patience = 30 * time.Second

// fakeSource gives what it was given.
type fakeSource struct {
	take  func() (*profile.Profile, error)
	stats Stats
}

func (f *fakeSource) Take() (*profile.Profile, error) { return f.take() }
func (f *fakeSource) Stats() Stats                    { return f.stats }

func steady() *fakeSource {
	return &fakeSource{take: func() (*profile.Profile, error) { return program(), nil }, stats: testStats}
}

// watched is a screen in memory that hands on each picture, and counts what is done to it.
type watched struct {
	tcell.SimulationScreen
	pictures chan string
	steps    []string // of the goroutine that draws
}

func newWatched(t *testing.T) *watched {
	return &watched{SimulationScreen: simulated(t, 80, 24), pictures: make(chan string, 1000)}
}

func (w *watched) Show() {
	w.SimulationScreen.Show()
	contents, width, height := w.GetContents()
	var b strings.Builder
	for i := range width * height {
		b.WriteString(string(contents[i].Runes))
	}
	w.pictures <- b.String()
}

func (w *watched) Suspend() error { w.steps = append(w.steps, "suspend"); return nil }
func (w *watched) Resume() error  { w.steps = append(w.steps, "resume"); return nil }
func (w *watched) Fini()          { w.steps = append(w.steps, "fini"); w.SimulationScreen.Fini() }

// await waits for a picture with text in it.
func (w *watched) await(t *testing.T, text string) {
	t.Helper()
	end := time.After(patience)
	last := ""
	for {
		select {
		case last = <-w.pictures:
			if strings.Contains(last, text) {
				return
			}
		case <-end:
			t.Fatalf("no picture with %q, the last was %q", text, last)
		}
	}
}

// startRun runs the table on w.
func startRun(ctx context.Context, w *watched, src Source, opt Options) <-chan error {
	done := make(chan error, 1)
	opt.Every = 20 * time.Millisecond
	go func() { done <- runOn(ctx, w, src, opt.withDefaults()) }()
	return done
}

func ended(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatal("it does not end")
		return nil
	}
}

func (w *watched) press(text string) {
	for _, r := range text {
		w.InjectKey(tcell.KeyRune, r, tcell.ModNone)
	}
}

func TestRunShowsAndQuits(t *testing.T) {
	w := newWatched(t)
	done := startRun(t.Context(), w, steady(), Options{Title: "7 prog"})
	w.await(t, "leaf")
	w.press("i")
	w.await(t, "futex")
	w.press("H")
	w.await(t, "prog/b 101")
	w.press("?")
	w.await(t, "freeze what is shown")
	w.press("qq")
	if err := ended(t, done); err != nil {
		t.Error(err)
	}
	if got, want := strings.Join(w.steps, " "), "suspend fini"; got != want {
		t.Errorf("the screen saw %q, want %q", got, want)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWatched(t)
	done := startRun(ctx, w, steady(), Options{})
	w.await(t, "leaf")
	cancel()
	if err := ended(t, done); err != nil {
		t.Error(err)
	}
}

// TestRunWithManyKeys: more keys than any queue holds, and then the end.
func TestRunWithManyKeys(t *testing.T) {
	w := newWatched(t)
	done := startRun(t.Context(), w, steady(), Options{})
	w.await(t, "leaf")
	go func() {
		for range 3000 {
			w.press("t")
		}
		w.press("q")
	}()
	// The simulated screen drops keys when its queue is full: q may be lost.
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		case <-w.pictures:
			w.press("q")
		}
	}
	t.Error("it does not end")
}

func TestRunTellsErrors(t *testing.T) {
	w := newWatched(t)
	src := &fakeSource{take: func() (*profile.Profile, error) { return nil, errors.New("no \x1bspace") }}
	done := startRun(t.Context(), w, src, Options{})
	w.await(t, `take profile: no \x1bspace`)
	w.press("q")
	if err := ended(t, done); err != nil {
		t.Error(err)
	}
}

func TestRunAfterTheEnd(t *testing.T) {
	for _, tc := range []struct {
		why  error
		want string
	}{{nil, "what was sampled has ended"}, {errors.New("lost it"), "sampling ended: lost it"}} {
		w := newWatched(t)
		sampling := make(chan error, 1)
		done := startRun(t.Context(), w, steady(), Options{Ended: sampling})
		w.await(t, "leaf")
		sampling <- tc.why
		w.await(t, tc.want)
		w.press("i") // the table stays, and keys work
		w.await(t, "futex")
		w.press("q")
		if err := ended(t, done); err != nil {
			t.Error(err)
		}
	}
}

// TestPanicGivesTheScreenBack: of the source, of what samples, and of a callback of a key.
func TestPanicGivesTheScreenBack(t *testing.T) {
	var p *PanicError
	w := newWatched(t)
	src := &fakeSource{take: func() (*profile.Profile, error) { panic("broken") }}
	if err := ended(t, startRun(t.Context(), w, src, Options{})); !errors.As(err, &p) || p.Value != "broken" ||
		!strings.Contains(string(p.Stack), "fakeSource") {
		t.Errorf("source: got %v", err)
	}
	if got, want := strings.Join(w.steps, " "), "suspend fini"; got != want {
		t.Errorf("source: the screen saw %q, want %q", got, want)
	}

	w = newWatched(t)
	sampling := make(chan error, 1)
	sampling <- Guard(func() error { panic("sampler") })
	if err := ended(t, startRun(t.Context(), w, steady(), Options{Ended: sampling})); !errors.As(err, &p) ||
		p.Value != "sampler" {
		t.Errorf("sampling: got %v", err)
	}

	w = newWatched(t)
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		opt := Options{Every: time.Millisecond, Write: func(string, *profile.Profile) (string,
			error) {
			panic("callback")
		},
			WriteTo: "x"}
		runOn(t.Context(), w, steady(), opt.withDefaults())
	}()
	w.await(t, "leaf")
	w.press("w")
	w.InjectKey(tcell.KeyEnter, 0, tcell.ModNone)
	select {
	case v := <-done:
		if v != "callback" {
			t.Errorf("callback: got %v", v)
		}
	case <-time.After(patience):
		t.Fatal("callback: it does not end")
	}
	if got, want := strings.Join(w.steps, " "), "suspend fini"; got != want {
		t.Errorf("callback: the screen saw %q, want %q", got, want)
	}
}

func TestSuspend(t *testing.T) {
	for _, tc := range []struct {
		name string
		ask  func(w *watched, signals chan<- os.Signal)
	}{
		// any signal: top does not check
		{"by the signal", func(_ *watched, signals chan<- os.Signal) { signals <- syscall.SIGTERM }},
		{"by the key", func(w *watched, _ chan<- os.Signal) { w.InjectKey(tcell.KeyCtrlZ, 0, tcell.ModNone) }},
	} {
		w := newWatched(t)
		signals, stopped, goOn := make(chan os.Signal, 1), make(chan bool), make(chan bool)
		done := startRun(t.Context(), w, steady(), Options{Suspend: signals, Stop: func() { stopped <- true; <-goOn }})
		w.await(t, "leaf")
		tc.ask(w, signals)
		<-stopped
		for len(w.pictures) > 0 {
			<-w.pictures
		}
		goOn <- true
		w.await(t, "leaf")
		w.press("q")
		if err := ended(t, done); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if got, want := strings.Join(w.steps, " "), "suspend resume suspend fini"; got != want {
			t.Errorf("%s: the screen saw %q, want %q", tc.name, got, want)
		}
	}
}

// TestEndWhileSuspended: the terminal belongs to someone else and is left alone.
func TestEndWhileSuspended(t *testing.T) {
	for range 20 { // which of two events comes first is chance
		ctx, cancel := context.WithCancel(t.Context())
		w := newWatched(t)
		drawn := 0
		done := startRun(ctx, w, steady(), Options{Stop: func() { cancel(); drawn = len(w.pictures) }})
		w.InjectKey(tcell.KeyCtrlZ, 0, tcell.ModNone)
		if err := ended(t, done); err != nil {
			t.Error(err)
		}
		if got, want := strings.Join(w.steps, " "), "suspend suspend fini"; got != want {
			t.Fatalf("the screen saw %q, want %q", got, want)
		}
		if len(w.pictures) != drawn {
			t.Fatal("it was drawn on after it was given back")
		}
	}
}

// TestScreenWithoutCells: a terminal that went away has a size but nothing to draw on.
func TestScreenWithoutCells(t *testing.T) {
	w := newWatched(t)
	u := &ui{screen: &empty{w}, model: newModel(Options{}.withDefaults())}
	u.draw()
	if len(w.pictures) > 0 {
		t.Error("it was drawn on")
	}
}

// empty is a screen whose size is not that of its cells.
type empty struct{ *watched }

func (*empty) Size() (int, int)                        { return 80, 24 }
func (*empty) Get(int, int) (string, tcell.Style, int) { return "", tcell.StyleDefault, 0 }
