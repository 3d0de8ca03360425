// Package debugfile finds the files that say more about an object than it does itself: its
// separate debug file, the file that dwz moved common parts to, split DWARF, and the compressed
// symbol table that some distributions leave inside.
//
// The module's own view of the file system is looked through first, that of its process. The caller gives
// further ones ([Open]), as our own, the directories, and perhaps a way to fetch a file by its build id. Nothing is
// read of the process itself.
//
// It guarantees that a file belongs to the object: by equal build ids, or by the checksum that
// the link holds. A file that does not is refused, and the refusal reaches the caller.
//
// Sources: gdb manual, "Separate Debug Files" and "MiniDebugInfo"; DWARF 5, section 7.3.6;
// dwz(1).
package debugfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fpstack/fpstack/maps/module"
)

// Open opens the file at an absolute path in one view of the file system.
type Open func(path string) (*module.File, error)

// Fetcher brings debug files from elsewhere, as a debuginfod server.
type Fetcher interface {
	// Fetch returns the debug file of the object with that build id, lower-case hex. It fails
	// with an error that wraps fs.ErrNotExist where nobody has it.
	Fetch(buildID string) (*module.File, error)
}

// Finder finds debug files. It is for one goroutine at a time.
type Finder struct {
	views   []Open
	dirs    []string
	fetcher Fetcher
	open    map[*module.Module]*module.File
}

// New returns a Finder that looks through the view of the module itself ([module.Module.Beside]), then
// through the given ones in their order, in each below dirs (as "/usr/lib/debug"), and asks
// fetcher last, if it is not nil.
func New(views []Open, dirs []string, fetcher Fetcher) *Finder {
	return &Finder{views: views, dirs: dirs, fetcher: fetcher, open: map[*module.Module]*module.File{}}
}

// Close closes every file found. Their modules must not be used afterwards.
func (f *Finder) Close() error {
	var errs []error
	for found := range f.open {
		errs = append(errs, f.Release(found))
	}
	return errors.Join(errs...)
}

// Release closes the file of one module that was found, which must not be used afterwards. A recording that goes on
// while programs come and go would keep the files of all of them.
func (f *Finder) Release(found *module.Module) error {
	file := f.open[found]
	delete(f.open, found)
	if file == nil || file.Close == nil {
		return nil
	}
	return file.Close()
}

// maxOpen bounds the files that one Finder keeps open.
const maxOpen = 1 << 14

// Debug returns the separate debug file of m, nil if there is none. The error names files
// that were found and refused, or could not be read; it may come with a file found elsewhere.
func (f *Finder) Debug(m *module.Module) (*module.Module, error) {
	var refused []error
	for _, way := range []func(*module.Module) (*module.Module, error){f.byBuildID, f.byLink, f.fetch} {
		found, err := way(m)
		if err != nil {
			refused = append(refused, err)
		}
		if found != nil {
			return found, errors.Join(refused...)
		}
	}
	return nil, errors.Join(refused...)
}

// byBuildID looks for DIR/.build-id/xx/yyyy.debug.
func (f *Finder) byBuildID(m *module.Module) (*module.Module, error) {
	id := m.BuildID()
	if len(id) < 4 {
		return nil, nil
	}
	var names []string
	for _, dir := range f.dirs {
		names = append(names, path.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
	}
	return f.first(m, names, sameBuildID(id))
}

// byLink follows .gnu_debuglink: beside the object, in .debug beside it, and below each
// directory under the object's own path.
func (f *Finder) byLink(m *module.Module) (*module.Module, error) {
	link, ok := debugLink(m)
	if !ok || !path.IsAbs(m.Path) {
		return nil, nil
	}
	dir := path.Dir(m.Path)
	names := []string{path.Join(dir, link.name), path.Join(dir, ".debug", link.name)}
	for _, d := range f.dirs {
		names = append(names, path.Join(d, dir, link.name))
	}
	return f.first(m, names, func(found *module.Module, data []byte) error {
		if id := m.BuildID(); id != "" && found.BuildID() != "" {
			return sameBuildID(id)(found, data)
		}
		return checksum(link, data, m.Budget())
	})
}

// fetch asks the Fetcher.
func (f *Finder) fetch(m *module.Module) (*module.Module, error) {
	if f.fetcher == nil || m.BuildID() == "" {
		return nil, nil
	}
	file, err := f.fetcher.Fetch(m.BuildID())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("fetch debug file of %q: %w", m.Path, err)
	}
	return f.take(m, file, sameBuildID(m.BuildID()))
}

// first returns the first of the files that is there and that check accepts, looking for all
// names in one view before the next.
func (f *Finder) first(m *module.Module, names []string, check func(*module.Module, []byte) error) (*module.Module,
	error) {
	var refused []error
	for _, open := range append([]Open{m.Beside}, f.views...) {
		for _, name := range names {
			if !m.Budget().Spend(openCost) {
				return nil, errors.Join(append(refused, fmt.Errorf("look for %q: %w", name, m.Budget().Refusal()))...)
			}
			file, err := open(name)
			if missing(err) {
				continue
			}
			var found *module.Module
			if err == nil {
				found, err = f.take(m, file, check)
			}
			if err != nil {
				refused = addNew(refused, err)
				continue
			}
			return found, errors.Join(refused...)
		}
	}
	return nil, errors.Join(refused...)
}

// addNew adds an error that says something new: two views often show the same file.
func addNew(errs []error, err error) []error {
	for _, e := range errs {
		if e.Error() == err.Error() {
			return errs
		}
	}
	return append(errs, err)
}

// missing reports whether err says that there is no such file, which is nothing to report.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir)
}

// openCost is the steps of a [work.Budget] that one file takes to be looked for.
const openCost = 20_000

// take reads a file opened for m and keeps it if check accepts it, else closes it.
func (f *Finder) take(m *module.Module, file *module.File, check func(*module.Module, []byte) error) (*module.Module,
	error) {
	if b := m.Budget(); b != nil { // else that of who opened it
		file.Budget = b
	}
	found, err := module.NewFile(file)
	if err == nil {
		err = module.Guard(file.Path, func() error { return check(found, file.Data) })
	}
	if err == nil && len(f.open) >= maxOpen {
		err = fmt.Errorf("open %q: %w", file.Path, module.ErrTooMany)
	}
	if err != nil {
		if file.Close != nil {
			file.Close()
		}
		return nil, err
	}
	f.open[found] = file
	return found, nil
}

// sameBuildID accepts the files with that build id.
func sameBuildID(want string) func(*module.Module, []byte) error {
	return func(found *module.Module, _ []byte) error {
		if got := found.BuildID(); got != want {
			return fmt.Errorf("refuse %q: its build id is %q, want %q", found.Path, got, want)
		}
		return nil
	}
}
