package top

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gdamore/tcell/v2"
)

// ErrScreen says that nothing can be drawn on this terminal. It was not changed.
var ErrScreen = errors.New("terminal not usable")

// Shortest times between two pictures: after a take, and after a key.
const (
	drawEvery = 250 * time.Millisecond
	keyEvery  = 20 * time.Millisecond
)

// Run shows the live table on the terminal until a person quits or ctx ends; neither is an
// error. Precondition: this program is in the foreground of its terminal.
//
// It fails with [ErrScreen] if TERM is not known or there is no terminal, and with a
// [*PanicError] if src or a goroutine of Run panicked. The terminal is as before on every
// return.
func Run(ctx context.Context, src Source, opt Options) error {
	// Another character set than UTF-8 and ASCII is drawn in ASCII.
	tcell.SetEncodingFallback(tcell.EncodingFallbackASCII)
	screen, err := tcell.NewScreen()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrScreen, err)
	}
	if err := screen.Init(); err != nil {
		return fmt.Errorf("%w: %w", ErrScreen, err)
	}
	return runOn(ctx, screen, src, opt.withDefaults())
}

// ui is one run of the table on a screen.
type ui struct {
	screen tcell.Screen
	model  *model
	inks   inks
	drawn  time.Time
	due    time.Time // of the next picture; zero: nothing has changed
}

// runOn is Run on a screen that was made ready. It lets go of the screen at the end, also when
// it panics.
func runOn(ctx context.Context, screen tcell.Screen, src Source, opt Options) error {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan tcell.Event)
	fed := make(chan struct{})
	defer func() {
		cancel()
		screen.Suspend() // it waits for its own goroutines, while pump still reads from them
		screen.Fini()
		<-fed // src is the caller's again
	}()
	for r, text := range map[rune]string{'…': "~", 'µ': "u"} {
		screen.RegisterRuneFallback(r, text)
	}
	updates, crash := make(chan update), make(chan error, 1)
	go func() {
		defer close(fed)
		newFeeder(src, &opt, opt.Every/4).feed(ctx, updates)
	}()
	go func() {
		crash <- Guard(func() error { pump(ctx, screen, events); return nil })
	}()
	u := &ui{screen: screen, model: newModel(opt), inks: inksFor(screen, opt.Plain)}
	return u.loop(ctx, events, updates, crash)
}

// pump hands on what the screen reports. It goes on reading until the screen is let go, as that
// waits for its events to be read.
func pump(ctx context.Context, screen tcell.Screen, events chan<- tcell.Event) {
	for ev := screen.PollEvent(); ev != nil; ev = screen.PollEvent() {
		select {
		case events <- ev:
		case <-ctx.Done():
		}
	}
}

func (u *ui) loop(ctx context.Context, events <-chan tcell.Event, updates <-chan update, crash <-chan error) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	u.dueAfter(0)
	for {
		timer.Stop()
		if !u.due.IsZero() {
			timer.Reset(time.Until(u.due))
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-crash:
			return err
		case up := <-updates:
			if err := u.model.receive(up); err != nil {
				return err
			}
			u.dueAfter(drawEvery)
		case ev := <-events:
			if done, err := u.event(ctx, ev); done || err != nil {
				return err
			}
		case <-u.model.opt.Suspend:
			if done, err := u.suspend(ctx); done || err != nil {
				return err
			}
		case <-timer.C:
			u.draw()
		}
	}
}

// dueAfter wants a picture as soon as wait has passed since the last.
func (u *ui) dueAfter(wait time.Duration) {
	if at := u.drawn.Add(wait); u.due.IsZero() || at.Before(u.due) {
		u.due = at
	}
}

// event takes one event of the screen, and reports whether it was the last.
func (u *ui) event(ctx context.Context, ev tcell.Event) (bool, error) {
	u.dueAfter(keyEvery)
	switch ev := ev.(type) {
	case *tcell.EventError:
		return true, fmt.Errorf("read terminal: %w", ev)
	case *tcell.EventKey:
		switch u.model.press(ev) {
		case quit:
			return true, nil
		case suspend:
			return u.suspend(ctx)
		}
	}
	return false, nil
}

// suspend gives the terminal back, stops, and takes it again. It reports whether the program
// is to end instead: then the terminal may be another's.
func (u *ui) suspend(ctx context.Context) (bool, error) {
	if u.model.opt.Stop == nil {
		return false, nil
	}
	if err := u.screen.Suspend(); err != nil {
		return true, fmt.Errorf("give terminal back: %w", err)
	}
	u.model.opt.Stop()
	if ctx.Err() != nil {
		return true, nil
	}
	if err := u.screen.Resume(); err != nil {
		return true, fmt.Errorf("take terminal again: %w", err)
	}
	u.draw()
	return false, nil
}

// draw puts the picture on the screen, which sends what differs from the last.
func (u *ui) draw() {
	u.due, u.drawn = time.Time{}, time.Now()
	w, h := u.screen.Size()
	if w <= 0 || h <= 0 {
		return
	}
	// A terminal that went away while we were suspended has a size but no cells, and the
	// library would look for them for ever.
	if _, _, cells := u.screen.Get(w-1, h-1); cells == 0 {
		return
	}
	if w != u.model.width || h != u.model.height {
		u.model.width, u.model.height = w, h
		u.model.refreshCalls() // the lists may be open or shut now
	}
	u.screen.Clear()
	for y, l := range u.model.lines() {
		putLine(u.screen, y, w, l, &u.inks)
	}
	u.screen.HideCursor()
	u.screen.Show()
}

// putLine draws l in row y. What is wider than the screen ends in "…".
func putLine(screen tcell.Screen, y, cells int, l line, inks *inks) {
	x := 0
	for _, s := range l {
		for text := s.text; text != ""; {
			rest, w := screen.Put(x, y, text, inks[s.ink])
			if x >= cells || x+w > cells {
				screen.Put(cells-1, y, "…", inks[s.ink])
				return
			}
			if len(rest) >= len(text) {
				break
			}
			x, text = x+w, rest
		}
	}
}

// inks are the styles of the inks.
type inks [falls + 1]tcell.Style

// inksFor gives styles for a screen. Without colours the difference is made by brightness.
func inksFor(screen tcell.Screen, plainOnly bool) inks {
	d := tcell.StyleDefault
	list := inks{plain: d, strong: d.Bold(true), faint: d.Dim(true), bar: d.Reverse(true),
		barSorted: d.Reverse(true).Bold(true).Underline(true),
		chosen:    d.Reverse(true), bad: d.Bold(true), waits: d.Dim(true), rises: d.Bold(true), falls: d}
	if plainOnly || screen.Colors() < 8 {
		return list
	}
	list[bad] = d.Foreground(tcell.ColorMaroon).Bold(true)
	list[waits] = d.Foreground(tcell.ColorTeal)
	list[rises] = d.Foreground(tcell.ColorOlive)
	list[falls] = d.Foreground(tcell.ColorGreen)
	return list
}
