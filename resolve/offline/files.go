package offline

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol/debugfile"
)

// maxOpen bounds the files that one Files opens by the paths of modules.
const maxOpen = 1 << 14

// Files is a [Finder]. It asks the files given by hand first, then the one that is at the
// module's own path, then debug files by build id. A file is believed if it has the module's
// build id. For a module without one, only a file given by hand whose name is the module's counts.
// It is for one goroutine at a time.
type Files struct {
	open   debugfile.Open
	view   debugfile.Open // of the paths of modules
	finder *debugfile.Finder
	given  []*given
	opened []*module.File
	files  map[*module.Module]*module.File // those that objects were made of
}

// given is a file given by hand.
type given struct {
	object *module.Module
	used   bool // it was taken for a module or refused for one, which was reported
}

// NewFiles returns Files that open paths by open, and look by finder for what is not there. The
// caller closes finder.
func NewFiles(open debugfile.Open, finder *debugfile.Finder) *Files {
	return &Files{open: open, view: open, finder: finder, files: map[*module.Module]*module.File{}}
}

// View makes f open the paths of modules by open, in place of those that are here.
func (f *Files) View(open debugfile.Open) { f.view = open }

// Close closes the files. Nothing found may be used afterwards.
func (f *Files) Close() error {
	var errs []error
	for _, file := range f.opened {
		if file.Close != nil {
			errs = append(errs, file.Close())
		}
	}
	f.opened = nil
	clear(f.files)
	return errors.Join(errs...)
}

// Give adds the object or debug file at an absolute path, for the modules that it fits.
func (f *Files) Give(file string) error {
	m, err := f.object(f.open, file, func(*module.Module) error { return nil })
	if err == nil {
		f.given = append(f.given, &given{object: m})
	}
	return err
}

// object opens the ELF file at a path of a view if check accepts it.
func (f *Files) object(open debugfile.Open, file string, check func(*module.Module) error) (*module.Module, error) {
	if len(f.opened) >= maxOpen {
		return nil, fmt.Errorf("open %q: %w", file, module.ErrTooMany)
	}
	opened, err := open(file)
	if err != nil {
		return nil, err
	}
	m, err := module.NewFile(opened)
	if err == nil {
		err = check(m)
	}
	if err == nil {
		f.opened = append(f.opened, opened)
		f.files[m] = opened
		return m, nil
	}
	if opened.Close != nil {
		opened.Close()
	}
	return nil, err
}

// Find implements [Finder].
func (f *Files) Find(m *profile.Module) Found {
	if m.BuildID == "" {
		return f.byName(m)
	}
	var found Found
	for _, g := range f.given {
		switch {
		case g.object.BuildID() == m.BuildID:
			g.used = true
			found.Objects = append(found.Objects, g.object)
		case sameName(g.object.Path, m.Path):
			g.used = true
			found.Err = errors.Join(found.Err, refuse(g.object, m))
		}
	}
	if len(found.Objects) > 0 {
		return found
	}
	if own, err := f.atOwnPath(m, func(o *module.Module) error { return checkID(o, m) }); own != nil {
		found.Objects = append(found.Objects, own)
		return found
	} else if err != nil {
		found.Err = errors.Join(found.Err, err)
	}
	other, err := f.finder.ByBuildID(m.BuildID)
	found.Err = errors.Join(found.Err, err)
	if other != nil {
		found.Objects = append(found.Objects, other)
	}
	return found
}

// Open opens the file of m with its code, as it was mapped: one given by hand, or that at its path. It stays open until
// Close of f. A module without a build id may be known by sum, the [module.Module.LoadedSum] of its file; "" if it is
// not.
func (f *Files) Open(m *profile.Module, sum string) (*module.File, error) {
	found := f.Find(m)
	if m.BuildID == "" && sum != "" && len(found.Objects) == 0 {
		own, err := f.atOwnPath(m, func(o *module.Module) error { return checkSum(o, sum) })
		if found.Err = errors.Join(found.Err, err); own != nil {
			found.Objects = append(found.Objects, own)
		}
	}
	for _, o := range found.Objects {
		if file := f.files[o]; file != nil && hasCode(o) {
			return &module.File{Data: file.Data, Path: file.Path, Beside: file.Beside}, nil
		}
	}
	why := "no file with build id " + m.BuildID + " was found"
	if m.BuildID == "" {
		why = "it has no build id; give a file with its name"
	}
	return nil, errors.Join(fmt.Errorf("open %q: %s", m.Path, why), found.Err)
}

// hasCode reports whether o holds code: a separate debug file has its sections without their bytes.
func hasCode(o *module.Module) bool {
	const progbits, execInstr = 1, 4 // SHT_PROGBITS, SHF_EXECINSTR
	for _, s := range o.Sections() {
		if s.Type == progbits && s.Flags&execInstr != 0 && len(s.Data) > 0 {
			return true
		}
	}
	return len(o.Sections()) == 0
}

// byName finds the given files with the name of a module that has no build id. A file with a
// build id is another one, if the module could be read when the dump was taken.
func (f *Files) byName(m *profile.Module) Found {
	found := Found{Unchecked: true}
	for _, g := range f.given {
		if path.Base(g.object.Path) != path.Base(undeleted(m.Path)) {
			continue
		}
		g.used = true
		if g.object.BuildID() != "" && m.Err == "" {
			found.Err = errors.Join(found.Err, refuse(g.object, m))
			continue
		}
		found.Objects = append(found.Objects, g.object)
	}
	return found
}

// atOwnPath opens the file at the path that the module had on its machine, if check accepts it.
func (f *Files) atOwnPath(m *profile.Module, check func(*module.Module) error) (*module.Module, error) {
	file := undeleted(m.Path)
	if !path.IsAbs(file) || strings.ContainsRune(file, 0) {
		return nil, nil
	}
	own, err := f.object(f.view, path.Clean(file), check)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return own, err
}

func checkID(o *module.Module, m *profile.Module) error {
	if o.BuildID() != m.BuildID {
		return refuse(o, m)
	}
	return nil
}

func checkSum(o *module.Module, want string) error {
	switch got, err := o.LoadedSum(); {
	case err != nil:
		return err
	case got != want:
		return fmt.Errorf("refuse %q: it is another file than the one that was mapped", o.Path)
	}
	return nil
}

// Unused names each given file that fits no module that was asked for.
func (f *Files) Unused() []error {
	var errs []error
	for _, g := range f.given {
		if g.used {
			continue
		}
		errs = append(errs, fmt.Errorf("%q fits no module: its build id is %s", g.object.Path,
			idText(g.object.BuildID())))
	}
	return errs
}

func refuse(o *module.Module, m *profile.Module) error {
	return fmt.Errorf("refuse %q for %q: its build id is %s, want %s", o.Path, m.Path, idText(o.BuildID()),
		idText(m.BuildID))
}

func idText(id string) string {
	if id == "" {
		return "not there"
	}
	return fmt.Sprintf("%q", id)
}

// sameName reports whether a file has the name of a module, or that of its debug file.
func sameName(file, mod string) bool {
	return strings.TrimSuffix(path.Base(file), ".debug") == path.Base(undeleted(mod))
}

// undeleted drops what the kernel appends to the path of a file that has no name any more.
func undeleted(file string) string { return strings.TrimSuffix(file, " (deleted)") }
