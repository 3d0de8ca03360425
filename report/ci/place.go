package ci

import (
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/profile"
)

// Place is a line of a source file; File is "" if none is known.
type Place struct {
	File string
	Line int // 0 if unknown
}

// Sources is the checkout of a job: the lines of it can carry annotations.
type Sources struct {
	Dir string // absolute; "" if there is none
	// Has reports whether the checkout has that file, by its path in it. nil: none.
	Has func(path string) bool
}

// Find is where the verdict belongs: the first frame of the culprit whose file is in the checkout, by its path there,
// else the frame that the verdict names.
func (s *Sources) Find(c *hang.Case, v *hang.Verdict) Place {
	if v.Culprit == nil {
		return Place{}
	}
	named := v.Culprit.Frame
	if p, ok := s.inside(named); ok {
		return p
	}
	for _, f := range culpritFrames(c, v.Culprit) {
		if p, ok := s.inside(&f); ok {
			return p
		}
	}
	if named == nil || named.File == "" {
		return Place{}
	}
	return Place{named.File, max(named.Line, 0)}
}

// culpritFrames are those of its thread in the last moment that has it.
func culpritFrames(c *hang.Case, who *hang.Culprit) []profile.Frame {
	for _, m := range slices.Backward(c.Moments) {
		for _, d := range m.Dumps {
			for i := range d.Threads {
				if t := &d.Threads[i]; d.Process.PID == who.PID && t.TID == who.TID {
					return t.Stack.Frames
				}
			}
		}
	}
	return nil
}

// installed are folders in a checkout with the work of others.
var installed = []string{"node_modules", "site-packages", "dist-packages", "vendor", "third_party", ".venv", "venv",
	".cargo", ".tox", "external"}

// inside is the place of f in the checkout.
func (s *Sources) inside(f *profile.Frame) (Place, bool) {
	if f == nil || f.File == "" || f.Line <= 0 || s.Dir == "" {
		return Place{}, false
	}
	file := path.Clean(strings.TrimPrefix(f.File, "file://"))
	if path.IsAbs(file) {
		in, ok := strings.CutPrefix(file, strings.TrimSuffix(s.Dir, "/")+"/")
		if !ok {
			return Place{}, false
		}
		file = in
	} else if s.Has == nil || strings.HasPrefix(file, "../") || !s.Has(file) {
		return Place{}, false
	}
	for _, part := range strings.Split(path.Dir(file), "/") {
		if slices.Contains(installed, part) {
			return Place{}, false
		}
	}
	return Place{file, f.Line}, true
}
