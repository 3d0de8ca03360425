package cmd

import (
	"path"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/unshown"
)

// nearNote is said where [profile.Frame.Near] is so of a function.
const nearNote = "where compiled Java was interrupted, line and inlined functions are those of the next call or loop " +
	"end; a JVM with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints describes more places"

// madeNote is said of JavaScript in files of another language, where it is not known that its lines are theirs: node
// itself runs TypeScript with the lines that it has, and tools that translate it name the file that they read.
const madeNote = "lines of TypeScript and the like may be those of the JavaScript made from it: --names full reads " +
	"all source maps"

// isMade reports whether f is JavaScript that stands in a file of another language, perhaps with lines of its own.
func isMade(f profile.Frame) bool { return f.Generated && isMadeFrom(f.File, f.Line) }

func isMadeFrom(file string, line int) bool {
	return line > 0 &&
		slices.Contains([]string{".ts", ".tsx", ".mts", ".cts", ".jsx", ".vue", ".svelte"}, path.Ext(file))
}

func isNear(f profile.Frame) bool { return f.Near }

// dumpNotes say which languages' frames are missing from d, or inexact.
func dumpNotes(d *profile.Dump, o *namingOptions) []string {
	var stacks []*profile.Stack
	var called []profile.Call
	for i := range d.Threads {
		stacks = append(stacks, &d.Threads[i].Stack)
		called = append(called, d.Threads[i].Loop.Called()...)
	}
	for i := range d.FiberStacks {
		stacks = append(stacks, &d.FiberStacks[i].Stack)
	}
	made := slices.ContainsFunc(called, func(c profile.Call) bool { return c.Generated && isMadeFrom(c.File, c.Line) })
	return o.notes(unshown.InDump(d), made, func(is func(profile.Frame) bool) bool {
		return slices.ContainsFunc(stacks, func(s *profile.Stack) bool { return slices.ContainsFunc(s.Frames, is) })
	})
}

// profileNotes say the same of p.
func profileNotes(p *profile.Profile, o *namingOptions) []string {
	return o.notes(unshown.InProfile(p), false, func(is func(profile.Frame) bool) bool {
		return slices.ContainsFunc(p.Frames, is)
	})
}

// notes adds to notes what is to be said of frames; has reports whether there is such a one. made says that a place in
// a file of another language is shown besides.
func (o *namingOptions) notes(notes []string, made bool, has func(func(profile.Frame) bool) bool) []string {
	if has(isNear) {
		notes = append(notes, nearNote)
	}
	if !o.allLines() && !o.noLines() && (made || has(isMade)) {
		notes = append(notes, madeNote)
	}
	return notes
}
