//go:build linux

package live

import (
	"fmt"
	"path"
	"regexp"
)

// Ways in which two stacks of one thread differ.
type difference string

const (
	equal      difference = "equal"
	peerEnds   difference = "peer ends"    // it has our frames up to a point, and no more
	peerGoesOn difference = "peer goes on" // it has all of ours, and more
	differ     difference = "differ"       // they part
)

// parting says where and how two stacks part.
type parting struct {
	how  difference
	at   int    // number of frames that are the same, innermost first
	last string // the last frame that is the same, as module!function
	ours string // our frame behind it, if there is one
}

func (p parting) String() string {
	return fmt.Sprintf("%s behind frame %d %s; ours goes on with %q", p.how, p.at-1, p.last, p.ours)
}

// part compares the addresses of two stacks. An outermost frame at address 0 is none.
func part(d *dump, ours []frame, theirs []place) parting {
	for len(theirs) > 0 && theirs[len(theirs)-1].address == 0 {
		theirs = theirs[:len(theirs)-1]
	}
	at := 0
	for at < len(ours) && at < len(theirs) && value(ours[at].Address) == theirs[at].address {
		at++
	}
	p := parting{how: differ, at: at}
	if at > 0 {
		p.last = where(d, ours[at-1])
	}
	if at < len(ours) {
		p.ours = where(d, ours[at])
	}
	switch {
	case at == len(ours) && at == len(theirs):
		p.how = equal
	case at == len(theirs):
		p.how = peerEnds
	case at == len(ours):
		p.how = peerGoesOn
	}
	return p
}

// where words a frame for a rule: module!function, or kind!function outside of modules and for JavaScript.
func where(d *dump, f frame) string {
	if f.Module == nil || f.Kind == javascript {
		return f.Kind + "!" + f.Function
	}
	return path.Base(d.Modules[*f.Module].Path) + "!" + f.Function
}

// physical leaves out frames without an address of their own.
func physical(frames []frame) []frame {
	var ps []frame
	for _, f := range frames {
		if !f.Inlined && f.Address != "" { // functions of an interpreter have none
			ps = append(ps, f)
		}
	}
	return ps
}

// rule allows one difference, for the reason that it gives.
type rule struct {
	program *regexp.Regexp
	peer    string
	how     difference
	last    *regexp.Regexp // the last frame that is the same
	reason  string
}

func (r *rule) allows(program, peer string, p parting) bool {
	return r.program.MatchString(program) && r.peer == peer && r.how == p.how && r.last.MatchString(p.last)
}

// allowed gives the rule for a difference, nil if there is none.
func allowed(program, peer string, p parting) *rule {
	for i := range rules {
		if rules[i].allows(program, peer, p) {
			return &rules[i]
		}
	}
	return nil
}
