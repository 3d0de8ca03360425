package cmd

import (
	"strconv"

	"github.com/fpstack/fpstack/dump"
)

// goroutinesMode is the value of --goroutines.
type goroutinesMode struct{ on, given bool }

// String, Set and Type implement pflag.Value.
func (m *goroutinesMode) String() string { return strconv.FormatBool(m.on) }

func (m *goroutinesMode) Set(s string) error {
	on, err := strconv.ParseBool(s)
	if err == nil {
		*m = goroutinesMode{on: on, given: true}
	}
	return err
}

func (m *goroutinesMode) Type() string { return "bool" }

// wanted reports whether goroutines are to be listed. By default they are where the form has a place for them and all
// threads are stopped at one instant.
func (m *goroutinesMode) wanted(o *dumpOptions) bool {
	if m.given {
		return m.on
	}
	return len(o.tids) == 0 && !o.rolling && (o.format.word == "text" || o.format.word == "json")
}

// fibers is what dumps list of them.
func (m *goroutinesMode) fibers(o *dumpOptions) dump.Fibers {
	switch {
	case m.given && m.on:
		return dump.AskedFibers
	case m.wanted(o):
		return dump.AllFibers
	}
	return dump.NoFibers
}
