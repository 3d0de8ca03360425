package report

import (
	"path"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// places are source files by the names that frames have, each with the shortest end of its path that no other of the
// dump has.
type places map[string]string

// maxPlaces bounds the files of which shorter names are made; others keep their whole path.
const maxPlaces = 1 << 16

// common are names of files of which a project has many: they say nothing without a folder.
var common = map[string]bool{"__init__.py": true, "__main__.py": true, "main.py": true, "index.js": true,
	"index.ts": true, "index.mjs": true, "mod.rs": true, "lib.rs": true, "main.rs": true, "main.go": true}

// ShortFile is the name of a source file without its folders, or with the last where it says nothing alone.
func ShortFile(file string) string {
	if !shortens(file) {
		return file
	}
	return shortest(file, nil, common[path.Base(file)])
}

// newPlaces shortens the files of d.
func newPlaces(d *profile.Dump) places {
	byBase, all, seen := map[string][]string{}, places{}, map[*profile.Frame]bool{}
	place := func(file string) {
		if _, ok := all[file]; ok || file == "" || len(all) >= maxPlaces {
			return
		}
		all[file] = file
		if shortens(file) {
			base := path.Base(file)
			byBase[base] = append(byBase[base], file)
		}
	}
	add := func(frames []profile.Frame) {
		if len(frames) == 0 || seen[&frames[len(frames)-1]] { // several stacks may share their frames
			return
		}
		seen[&frames[len(frames)-1]] = true
		for i := range frames {
			place(frames[i].File)
		}
	}
	for i := range d.Threads {
		add(d.Threads[i].Stack.Frames)
		for _, call := range d.Threads[i].Loop.Called() {
			place(call.File)
		}
	}
	for i := range d.FiberStacks {
		add(d.FiberStacks[i].Stack.Frames)
		add(d.FiberStacks[i].CreatedBy)
	}
	for base, files := range byBase {
		for _, file := range files {
			all[file] = shortest(file, files, common[base])
		}
	}
	return all
}

// shortens reports whether file is a path of a file system: not a URL, nor a name like node:internal/timers.
func shortens(file string) bool {
	first, _, _ := strings.Cut(file, "/")
	return strings.Contains(file, "/") && !strings.Contains(first, ":") && !strings.HasSuffix(file, "/")
}

// shortest is the shortest end of file that is not the end of another one of others, with a folder if that is wanted.
func shortest(file string, others []string, folder bool) string {
	parts := strings.Split(file, "/")
	least := 1
	if folder {
		least = 2
	}
	for n := min(least, len(parts)); n < len(parts); n++ {
		end := strings.Join(parts[len(parts)-n:], "/")
		if end[0] == '/' || end == "" {
			break
		}
		if !isEndOfAnother("/"+end, file, others) {
			return end
		}
	}
	return file
}

// maxSame bounds the files of one name that are told apart by their folders.
const maxSame = 256

func isEndOfAnother(end, file string, others []string) bool {
	if len(others) > maxSame {
		return true
	}
	for _, other := range others {
		if other != file && strings.HasSuffix("/"+other, end) {
			return true
		}
	}
	return false
}

// short is the name of file that a line has.
func (p *printer) short(file string) string {
	if short, ok := p.places[file]; ok && !p.opt.Verbose {
		return short
	}
	return file
}
