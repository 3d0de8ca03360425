package flame

import (
	"io"
	"slices"
	"strconv"

	"github.com/fpstack/fpstack/profile"
)

// read is [Read] without the report of folded text.
func read(r io.Reader) (*profile.Profile, error) {
	p, _, err := Read(r)
	return p, err
}

// marked is p with the kinds of frames behind their names, as readers of folded text take them off, and with the ids of
// tasks behind theirs.
func marked(p *profile.Profile) *profile.Profile {
	shown := *p
	shown.Frames, shown.Tasks = slices.Clone(p.Frames), slices.Clone(p.Tasks)
	for i := range shown.Frames {
		if f := &shown.Frames[i]; f.Func != "" {
			f.Func += markOf(f)
		}
	}
	for i := range shown.Tasks {
		k := &shown.Tasks[i]
		k.Process, k.Thread = withID(k.Process, k.PID), withID(k.Thread, k.TID)
	}
	return &shown
}

func withID(name string, id int) string {
	if id == 0 {
		return name
	}
	return foldedName(name) + "-" + strconv.Itoa(id)
}

// markOf is what [frameOf] takes off.
func markOf(f *profile.Frame) string {
	kind := f.Kind
	if kind.Made() {
		kind = profile.JIT
	}
	for _, m := range kindMarks {
		if kind == m.kind && f.Inlined == m.inlined && (f.Inlined || f.Kind != profile.Native) {
			return m.mark
		}
	}
	return ""
}
