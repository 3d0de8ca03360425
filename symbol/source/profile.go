package source

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/work"
)

// Bounds of what is read for a profile.
const (
	maxFunctions = 2000    // the hottest ones
	maxBytes     = 1 << 18 // of text, which is mailed with the page that shows it
)

// endings are those of files that people write programs in. A name comes from debug information, which anybody can
// write: what it names beside them, as keys and passwords, must not get into a page that is given away.
var endings = []string{".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".go", ".rs", ".s", ".S",
	".asm", ".zig", ".d", ".swift", ".f90",
	".py", ".pyx", ".rb", ".js", ".ts", ".java", ".kt", ".cs", ".nim", ".ml", ".hs"}

// ForProfile returns, by file, the lines of frames of p with around lines before and behind each, where the file is in
// one of the views and its name ends like that of a source file. The functions with most of p's default value come
// first; of more than maxBytes of text, files are left out. Work is bounded by b.
//
// Precondition: p passes [profile.Profile.CheckValid].
func ForProfile(p *profile.Profile, around int, b *work.Budget, views ...View) map[string]profile.Source {
	of, _ := p.Functions()
	frames := map[uint32][]profile.FrameID{}
	for f := range p.Frames {
		frames[of[f]] = append(frames[of[f]], profile.FrameID(f))
	}
	files, names := map[string]*wanted{}, []string(nil)
	hot := profile.Hottest(p, p.Default)
	for _, h := range hot[:min(len(hot), maxFunctions)] {
		for _, id := range frames[of[h.Frame]] {
			f := &p.Frames[id]
			if f.Line <= 0 || !path.IsAbs(f.File) || !slices.Contains(endings, path.Ext(f.File)) ||
				strings.ContainsRune(f.File, 0) {
				continue
			}
			if files[f.File] == nil {
				names = append(names, f.File)
			}
			want(files, f, around, p.Modules)
		}
	}
	got := collect(files, b, views)
	kept, left := map[string]profile.Source{}, maxBytes
	for _, name := range names {
		size := 0
		for text := range maps.Values(got[name].Lines) {
			size += len(text)
		}
		if len(got[name].Lines) > 0 && size <= left {
			kept[name] = got[name]
			left -= size
		}
	}
	return kept
}
