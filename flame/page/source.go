package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// listing is the text of lines that was given, and what the lines of each function got.
type listing struct {
	Files     []sourceFile     `json:"files"`
	Functions []sourceFunction `json:"functions"`
}

type sourceFile struct {
	Name  string         `json:"name"`
	Newer bool           `json:"newer,omitempty"` // changed after the program was built
	Lines map[int]string `json:"lines"`
}

// sourceFunction is the lines of a function in one file. A function may have lines in several.
type sourceFunction struct {
	Frame profile.FrameID `json:"frame"`
	File  int             `json:"file"` // index in listing.Files
	Lines []sourceLine    `json:"lines"`
}

// sourceLine is what the stacks through a line got, for each type of value: each sample counts once.
type sourceLine struct {
	Line int     `json:"n"`
	All  []int64 `json:"all"`
	Ran  []int64 `json:"ran"` // of those that do not wait
}

// lineKey tells the lines of functions apart.
type lineKey struct {
	frame profile.FrameID
	file  string
	line  int
}

// newListing adds up what the lines of p got whose files are in texts. frames gives the function of each of p's frames.
// It is nil if there are none.
func newListing(p *profile.Profile, texts map[string]profile.Source, frames []profile.FrameID) *listing {
	keys, lines, of := []lineKey(nil), map[lineKey]int{}, make([]int, len(p.Frames))
	for f := range p.Frames {
		fr := &p.Frames[f]
		if _, ok := texts[fr.File]; !ok || fr.Line <= 0 {
			of[f] = -1
			continue
		}
		key := lineKey{frames[f], fr.File, fr.Line}
		if _, ok := lines[key]; !ok {
			lines[key] = len(keys)
			keys = append(keys, key)
		}
		of[f] = lines[key]
	}
	if len(keys) == 0 {
		return nil
	}
	sums := make([]sourceLine, len(keys))
	for i, key := range keys {
		sums[i] = sourceLine{key.line, make([]int64, len(p.Types)), make([]int64, len(p.Types))}
	}
	met := make([]int, len(keys)) // one more than the sample that a line was met in last
	for i, s := range p.Samples {
		ran := s.Stack == 0 || !p.Frames[p.Tree.Frame(s.Stack)].Waits()
		for n := s.Stack; n != 0; n = p.Tree.Parent(n) {
			k := of[p.Tree.Frame(n)]
			if k < 0 || met[k] == i+1 {
				continue
			}
			met[k] = i + 1
			for typ, v := range p.Value(i) {
				sums[k].All[typ] += v
				if ran {
					sums[k].Ran[typ] += v
				}
			}
		}
	}
	return arranged(keys, sums, texts)
}

// arranged puts the lines of each function together, and the text of each file once.
func arranged(keys []lineKey, sums []sourceLine, texts map[string]profile.Source) *listing {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := keys[a], keys[b]
		return cmp.Or(cmp.Compare(x.frame, y.frame), cmp.Compare(x.file, y.file), cmp.Compare(x.line, y.line))
	})
	s, files := &listing{}, map[string]int{}
	for at, i := range order {
		key := keys[i]
		if _, ok := files[key.file]; !ok {
			files[key.file] = len(s.Files)
			s.Files = append(s.Files, newSourceFile(key.file, texts[key.file]))
		}
		if at == 0 || keys[order[at-1]].frame != key.frame || keys[order[at-1]].file != key.file {
			s.Functions = append(s.Functions, sourceFunction{Frame: key.frame, File: files[key.file]})
		}
		fn := &s.Functions[len(s.Functions)-1]
		fn.Lines = append(fn.Lines, sums[i])
	}
	return s
}

func newSourceFile(name string, text profile.Source) sourceFile {
	lines := make(map[int]string, len(text.Lines))
	for n, line := range text.Lines {
		lines[n] = clean(strings.ReplaceAll(line, "\t", "    "))
	}
	return sourceFile{clean(name), text.Newer, lines}
}
