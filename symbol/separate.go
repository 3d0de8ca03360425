package symbol

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/symbol/dwarf"
)

// maxByDefault bounds what is inflated for lines of all modules together unless all lines are
// asked for, bytes. It takes a second or two.
const maxByDefault = 128 << 20

// Files leads to the files that say more of modules than they do themselves. Several Resolvers share
// one. It is for one goroutine at a time.
type Files struct {
	finder *debugfile.Finder
	all    bool
	left   uint64 // bytes that may be inflated yet
}

// NewFiles returns what finder finds; nil finds nothing. With allLines compressed lines are
// read whatever they cost, else not those of the C library and not more than [maxByDefault].
func NewFiles(finder *debugfile.Finder, allLines bool) *Files {
	return &Files{finder: finder, all: allLines, left: maxByDefault}
}

// separate is what is known of one module from other files. Each is looked for when it is first
// needed.
type separate struct {
	m     *module.Module
	files *Files

	searched bool
	debug    *module.Module // the separate debug file, nil if there is none
	mini     *module.Module // the object in .gnu_debugdata, nil if not needed
	err      error          // what was refused, until it is reported
	lines    *DWARF         // nil until it is chosen
	unread   string         // why lines or inlined calls that are there are not read
	splits   map[string]*DebugFile
	opened   []*module.Module // files of the finder
	lost     bool             // a split file was not found, or not read: it was reported
}

func newSeparate(m *module.Module, files *Files) *separate {
	if files == nil {
		files = NewFiles(nil, false)
	}
	return &separate{m: m, files: files, splits: map[string]*DebugFile{}}
}

// find looks for the debug file, once.
func (s *separate) find() *module.Module {
	if s.searched || s.m.Err != nil || s.files.finder == nil {
		return s.debug
	}
	s.searched = true
	var err error
	s.debug, err = s.files.finder.Debug(s.m)
	s.own(s.debug)
	s.refuse(err)
	return s.debug
}

// own notes a file that is closed with s; nil is none.
func (s *separate) own(found *module.Module) {
	if found != nil {
		s.opened = append(s.opened, found)
	}
}

// close closes all files that were opened for s.
func (s *separate) close() error {
	var errs []error
	for _, found := range s.opened {
		errs = append(errs, s.files.finder.Release(found))
	}
	s.opened = nil
	return errors.Join(errs...)
}

// refuse keeps each of the errors in err to be reported.
func (s *separate) refuse(err error) {
	if err == nil {
		return
	}
	each := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		each = joined.Unwrap()
	}
	for _, e := range each {
		s.err = errors.Join(s.err, fmt.Errorf("debug file of %q: %w", s.m.Path, e))
	}
}

// report returns what was refused, each once.
func (s *separate) report() error {
	err := s.err
	s.err = nil
	return err
}

// symtab returns the .symtab of the debug file, else that in .gnu_debugdata, nil if there is none.
func (s *separate) symtab() *rawTable {
	if s.files.finder == nil {
		return nil
	}
	if t := tableOf(s.find()); t != nil {
		return t
	}
	if s.mini == nil {
		var err error
		s.mini, err = debugfile.Mini(s.m)
		s.refuse(err)
	}
	return tableOf(s.mini)
}

// tableOf is the .symtab of m, nil if it has none or an empty one.
func tableOf(m *module.Module) *rawTable {
	if m == nil {
		return nil
	}
	t := newTable(m, ".symtab", 0)
	if t == nil || t.err == nil && t.count() <= 1 { // the first entry of a table is none
		return nil
	}
	return t
}

// Calls implements [DebugInfo] by the module's own DWARF, or that of its debug file.
func (s *separate) Calls(addrs []module.Vaddr) ([][]Call, error) {
	if s.lines == nil {
		s.lines = s.choose()
	}
	return s.lines.Calls(addrs)
}

// choose decides where lines are read from.
func (s *separate) choose() *DWARF {
	none := &DWARF{}
	if s.m.Err != nil {
		return none
	}
	from := s.m
	file := DebugFileOf(s.m)
	if !hasInfo(file) {
		if from = s.find(); from == nil {
			return none
		}
		if file = DebugFileOf(from); !hasInfo(file) {
			return none
		}
	}
	if s.unread = s.costly(file); s.unread != "" {
		return none
	}
	links := DebugLinks{}
	if finder := s.files.finder; finder != nil {
		links.Split = func(k dwarf.Skeleton) (*DebugFile, error) { return s.split(from, k) }
		alt, err := finder.Alt(from)
		s.own(alt)
		s.refuse(err)
		if alt != nil {
			f := DebugFileOf(alt)
			if s.unread = s.costly(f); s.unread != "" {
				return none // nearly all names are there
			}
			links.Alt = &f
		}
	}
	return NewDWARF(s.m, file, links)
}

// costly says why lines in file are not read by default, "" if they are.
func (s *separate) costly(file DebugFile) string {
	size := inflated(file)
	if s.files.all || size == 0 {
		return ""
	}
	megabytes := (size + 1<<20 - 1) >> 20
	switch {
	case isCLibrary(s.m.Path):
		return fmt.Sprintf("lines not read: %d MB compressed in %q, of the C library", megabytes, file.Path)
	case size > s.files.left:
		return fmt.Sprintf("lines not read: %d MB compressed in %q, more than is inflated by default", megabytes,
			file.Path)
	}
	s.files.left -= size
	return ""
}

// isCLibrary says by its name whether a module is of glibc or musl. Every stack has their frames,
// and many machines their debug files.
func isCLibrary(file string) bool {
	name := path.Base(file)
	if !strings.Contains(name, ".so") {
		return false
	}
	for _, stem := range []string{"libc", "libm", "libpthread", "libdl", "librt", "libresolv", "ld"} {
		rest, ok := strings.CutPrefix(name, stem)
		if ok && (strings.HasPrefix(rest, ".so") || strings.HasPrefix(rest, "-2.") ||
			strings.HasPrefix(rest, ".musl-") ||
			stem == "ld" && strings.HasPrefix(rest, "-")) {
			return true
		}
	}
	return false
}

// split finds the file that holds the unit k: a package beside the module or its debug file,
// else the file that the unit names.
func (s *separate) split(from *module.Module, k dwarf.Skeleton) (*DebugFile, error) {
	finder := s.files.finder
	file, err := s.keep("package", func() (*module.Module, error) {
		found, err := finder.Package(s.m)
		if found == nil && from != s.m {
			var more error
			found, more = finder.Package(from)
			err = errors.Join(err, more)
		}
		return found, err
	})
	if file == nil && err == nil {
		file, err = s.keep("unit "+k.CompDir+"\x00"+k.Name, func() (*module.Module, error) {
			return finder.Split(s.m, k.CompDir, k.Name)
		})
	}
	if file == nil && err == nil && !s.lost {
		s.lost = true
		err = fmt.Errorf("inlined calls of %q are in %q, which is not there, and others", s.m.Path, k.Name)
	}
	return file, err
}

// keep opens a file once, and remembers that there is none or that it costs too much.
func (s *separate) keep(key string, open func() (*module.Module, error)) (*DebugFile, error) {
	if f, ok := s.splits[key]; ok {
		return f, nil
	}
	s.splits[key] = nil
	found, err := open()
	if found == nil {
		return nil, err
	}
	s.own(found)
	f := DebugFileOf(found)
	if why := s.costly(f); why != "" {
		s.unread, s.lost = why, true
		return nil, nil
	}
	s.splits[key] = &f
	return &f, nil // what was refused on the way matters no more
}
