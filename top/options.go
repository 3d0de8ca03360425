package top

import (
	"os"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// Options say what is shown at first and what keys may do. The zero value works.
type Options struct {
	Title      string        // what is sampled: "4121 redis-server"
	Window     time.Duration // how far back the table reaches; 0: 10 s
	Every      time.Duration // between two takes; 0: 1 s
	Sort       Sort
	By         Grouping
	Idle       bool   // show threads that wait in the kernel
	SinceBegin bool   // all since the begin instead of the window
	Filter     string // as typed after \
	Plain      bool   // no colours
	// Native code below a function of a language is that function's with Folded, and has rows of its own with Apart.
	// With neither it is Folded once most of what ran is a language's.
	Folded, Apart bool

	// SetRate changes the samples a second; nil: they are fixed.
	SetRate func(hz float64) error
	// Write stores what was seen so far; the ending of the name says in which form. The
	// profile is its to read until it returns, and path says where it is now. nil: not possible.
	Write   func(name string, p *profile.Profile) (path string, err error)
	WriteTo string // the name proposed

	// Ended says that sampling has ended: by itself (nil) or why. A *PanicError ends Run.
	Ended <-chan error
	// Suspend asks to give the terminal back and to stop. nil: never.
	Suspend <-chan os.Signal
	// Stop stops this program as the shell's job control does, and returns when it may have
	// the terminal again. nil: Ctrl-Z does nothing.
	Stop func()

	limit int // of stacks kept; 0: maxStacks
}

func (o Options) withDefaults() Options {
	if o.Window <= 0 {
		o.Window = 10 * time.Second
	}
	if o.Every <= 0 {
		o.Every = time.Second
	}
	if o.limit <= 0 {
		o.limit = maxStacks
	}
	return o
}

// native is the first view of native code.
func (o *Options) native() nativeView {
	switch {
	case o.Folded:
		return nativeFolded
	case o.Apart:
		return nativeShown
	}
	return nativeByShare
}
