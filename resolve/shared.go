package resolve

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
)

// Bounds of a Shared. The programs of a machine have some hundred objects together, and their
// stacks some thousand places.
const (
	maxShared  = 256
	maxAnswers = 1 << 17
)

// Shared keeps the symbols of objects and the names of places in them for several processes that
// are named one after the other, so that of a file which all of them map each unit is read once.
// What is wrong with it is reported with the first process.
//
// Precondition: the modules of all are made with one [module.Shared], which is open still. It is
// for one goroutine at a time.
type Shared struct {
	symbols map[module.Object]*symbol.Resolver
	answers map[question][]profile.Frame
}

// question is an address of an object.
type question struct {
	object module.Object
	query  symbol.Query
}

// NewShared returns a Shared that knows nothing yet.
func NewShared() *Shared {
	return &Shared{symbols: map[module.Object]*symbol.Resolver{}, answers: map[question][]profile.Frame{}}
}

// of returns the symbols of m, which those of the same object are. A nil Shared makes new ones.
func (s *Shared) of(m *module.Module, files *symbol.Files) *symbol.Resolver {
	if s == nil || m.Err != nil {
		return symbol.NewResolver(m, files)
	}
	r, ok := s.symbols[m.Object()]
	if !ok {
		if len(s.symbols) >= maxShared {
			clear(s.symbols) // a process keeps what it uses itself
		}
		r = symbol.NewResolver(m, files)
		s.symbols[m.Object()] = r
	}
	return r
}

// recall gives the answers that are known already to learn, and returns the other queries.
func (s *Shared) recall(m *module.Module, queries []symbol.Query, learn func(*module.Module, symbol.Query,
	[]profile.Frame)) []symbol.Query {
	if s == nil {
		return queries
	}
	var left []symbol.Query
	for _, q := range queries {
		if frames, ok := s.answers[question{m.Object(), q}]; ok {
			learn(m, q, frames)
		} else {
			left = append(left, q)
		}
	}
	return left
}

// keep remembers an answer.
func (s *Shared) keep(m *module.Module, q symbol.Query, frames []profile.Frame) {
	if s == nil {
		return
	}
	if len(s.answers) >= maxAnswers {
		clear(s.answers)
	}
	s.answers[question{m.Object(), q}] = frames
}
