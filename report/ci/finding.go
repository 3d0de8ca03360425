package ci

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/text"
)

// kinds are the verdicts in words of a title.
var kinds = map[hang.Kind]string{
	hang.Deadlock: "deadlock", hang.Waiting: "hangs", hang.Busy: "busy loop or long work", hang.Halted: "stopped",
	hang.Starved: "no CPU left for it", hang.Moving: "slow but moving", hang.Unknown: "not known whether it hangs",
}

// Title is v in a few words of ours.
func Title(v *hang.Verdict) string {
	word, ok := kinds[v.Kind]
	if !ok {
		word = kinds[hang.Unknown]
	}
	return "fpstack: " + word
}

// Annotations are the verdict at its place, and what could not be captured, if anything.
func Annotations(c *hang.Case, v *hang.Verdict, at Place) []Annotation {
	said := append([]string{v.Sentence}, v.Because...)
	out := []Annotation{{Level: level(c, v), Place: at, Title: Title(v), Text: strings.Join(said, "; "),
		Code: "fpstack-" + string(v.Kind)}}
	if n := len(v.Lacks); n > 0 {
		out = append(out, Annotation{Level: Warning, Title: "fpstack: the capture is not complete",
			Text: strings.Join(v.Lacks, "; "), Code: "fpstack-incomplete"})
	}
	return out
}

// AtMost is all with no level above most.
func AtMost(all []Annotation, most Level) []Annotation {
	all = slices.Clone(all)
	for i := range all {
		if most == Notice || all[i].Level == Error {
			all[i].Level = most
		}
	}
	return all
}

// level is that of a verdict: an error where something hangs or was ended.
func level(c *hang.Case, v *hang.Verdict) Level {
	switch {
	case v.Kind.Hung():
		return Error
	case c.Trigger.Kind == hang.Asked:
		return Notice
	case c.Trigger.Kind == hang.Warned:
		return Warning
	}
	return Error
}

// Outcome is the verdict as JUnit's test of a command has it: in one line, with why it was captured.
func Outcome(c *hang.Case, v *hang.Verdict) string {
	why := ""
	switch c.Trigger.Kind {
	case hang.Deadline, hang.Idle, hang.SilentIdle, hang.Warned:
		why = fmt.Sprintf(" (%s %s)", c.Trigger.Kind, text.Typed(c.Trigger.After))
	}
	return v.Sentence + why
}
