package cmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fpstack/fpstack/flame"
	"github.com/fpstack/fpstack/flame/page"
	"github.com/fpstack/fpstack/profile"
)

// view is what is written of a profile.
type view struct {
	profile *profile.Profile
	diff    *profile.Diff // profile and what it is compared with on one tree, nil for no comparison
	options *viewOptions
	sources map[string]profile.Source // of files by the names that frames have, nil for none
	warn    func(string)
}

// newView settles what is shown of p: which value, and beside what. old is nil where nothing
// is compared; a file may hold a comparison by itself.
func newView(p, old *profile.Profile, absolute bool, o *viewOptions, warn func(string)) (*view, error) {
	if o.fold.word == "native" {
		p = p.FoldNative()
		if old != nil {
			old = old.FoldNative()
		}
	}
	v := &view{profile: p, options: o, warn: warn}
	var err error
	switch {
	case old == nil && p.IsDiff():
		v.diff, err = profile.Split(p)
	case old != nil && (p.IsDiff() || old.IsDiff()):
		err = fmt.Errorf("compare profiles: one of them is already a comparison")
	case old != nil:
		v.diff, err = profile.Compare(p, old, profile.DiffOptions{Absolute: absolute})
	}
	if err != nil {
		return nil, err
	}
	return v, v.choose()
}

// choose makes the value of --type the default one.
func (v *view) choose() error {
	if v.diff == nil {
		return chooseType(&v.profile, v.options.typ)
	}
	err := chooseType(&v.diff.New, v.options.typ)
	v.profile = v.diff.New
	return err
}

// chooseType puts a copy of *p in its place whose default value is the one named typ, unless
// that is "".
func chooseType(p **profile.Profile, typ string) error {
	if typ == "" {
		return nil
	}
	i := (*p).TypeIndex(typ)
	if i < 0 {
		var has []string
		for _, t := range (*p).Types {
			has = append(has, t.Type)
		}
		return usageError{fmt.Errorf("--type %q: the profile has %s", typ, strings.Join(has, ", "))}
	}
	chosen := **p
	chosen.Default = i
	*p = &chosen
	return nil
}

// unitNote says what the numbers of a form are that has no place for it; "" for other forms.
func (f *form) unitNote(v *view) string {
	if !f.bare {
		return ""
	}
	return "; each number is " + v.profile.Types[v.profile.Default].Words()
}

func writeFolded(w io.Writer, v *view) error {
	o := v.options
	opt := flame.FoldedOptions{Type: -1, Threads: o.threads, Warn: v.warn}
	if v.diff != nil {
		return usageError{errors.New("a comparison as folded text: a line has one number; choose another format")}
	}
	return flame.WriteFolded(w, v.profile, opt)
}

func writePprof(w io.Writer, v *view) error {
	opt := flame.PprofOptions{Version: version(), Warn: v.warn}
	if v.diff != nil {
		return flame.WritePprofDiff(w, v.diff, opt)
	}
	return flame.WritePprof(w, v.profile, opt)
}

func writeJSON(w io.Writer, v *view) error {
	if v.diff != nil {
		return flame.WriteJSONDiff(w, v.diff)
	}
	return flame.WriteJSON(w, v.profile)
}

func writeSpeedscope(w io.Writer, v *view) error {
	p := v.profile
	if v.diff != nil { // it knows no second side: that is values of its own
		p = v.diff.Join()
	}
	return flame.WriteSpeedscope(w, p, flame.SpeedscopeOptions{Type: -1, Name: v.options.title, Version: version(),
		Warn: v.warn})
}

func (v *view) page() page.Options {
	o := v.options
	return page.Options{Type: v.profile.Default, Title: o.title, Threads: o.threads,
		MinShare: float64(o.minShare),
		All:      o.all, Waits: o.waits, Native: o.fold.word == "none", Sources: v.sources, Diff: v.diff,
		Warn: v.warn}
}
