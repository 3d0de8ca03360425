package cmd

import (
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/unshown"
)

// nearNote is said where [profile.Frame.Near] is so of a function.
const nearNote = "where compiled Java was interrupted, line and inlined functions are those of the next call or loop " +
	"end; a JVM with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints describes more places"

func isNear(f profile.Frame) bool { return f.Near }

// dumpNotes say which languages' frames are missing from d, or inexact.
func dumpNotes(d *profile.Dump) []string {
	notes := unshown.InDump(d)
	if slices.ContainsFunc(d.Threads, func(t profile.Thread) bool {
		return slices.ContainsFunc(t.Stack.Frames, isNear)
	}) {
		notes = append(notes, nearNote)
	}
	return notes
}

// profileNotes say the same of p.
func profileNotes(p *profile.Profile) []string {
	notes := unshown.InProfile(p)
	if slices.ContainsFunc(p.Frames, isNear) {
		notes = append(notes, nearNote)
	}
	return notes
}
