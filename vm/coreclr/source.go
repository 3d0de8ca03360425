package coreclr

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/coreclr/pdb"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// source is the PDB of a module.
type source struct {
	file *pdb.File // nil if there is none
	size int       // of its bytes
	err  error     // why one that there is cannot be used
	retry
}

// errOtherBuild says that the PDB beside an assembly does not belong to it.
var errOtherBuild = errors.New("it is of another build")

// source is the PDB of the module of m, which is a.
func (n *namer) source(m *Method, a *assembly) *source {
	if a.lines == nil || a.lines.err != nil && a.lines.file == nil && a.lines.due(n.walks) {
		again := retry{}
		if a.lines != nil {
			again = a.lines.retry
		}
		a.lines = n.findSource(&m.Module)
		if a.lines.retry = again; a.lines.err != nil {
			a.lines.failed(n.walks)
		}
		key := assemblyKey{m.Module.Metadata, m.Module.ID}
		if n.budget.Release(int64(a.lines.size)); !n.modules.Keep(key, a, assemblySize+a.lines.size) {
			a.lines = &source{err: fmt.Errorf("read the PDB of %q: %w", m.Module.Path, work.ErrMemory), retry: again}
		}
		n.note(a.lines.err)
	}
	return a.lines
}

// place is where in the source m executes, a method of a; "" and 0 if the PDB does not say so.
func (n *namer) place(s *source, m *Method, a *assembly) (file string, line int) {
	// Code before and behind the body, as that which sets up the frame, belongs to no IL: the first line is nearest.
	file, line, err := s.file.Line(m.Token&rowMask, uint32(max(m.IL, 0)))
	if err != nil {
		n.note(fmt.Errorf("read the PDB of %s: %w", a.name, err))
	}
	return file, line
}

// findSource finds the PDB of m: inside of it, or beside it.
func (n *namer) findSource(m *Module) *source {
	im, err := n.image(m)
	switch {
	case errors.Is(err, metadata.ErrFormat):
		return &source{} // an assembly without an image, as one that was made at run time
	case err != nil:
		return &source{err: err}
	}
	data, err := pdb.Embedded(im, n.budget)
	if err == nil && data == nil {
		data, err = n.beside(m, im)
	}
	s := &source{size: len(data)}
	if err == nil && data != nil {
		s.file, err = pdb.Parse(data, n.budget)
	}
	if err != nil {
		s.err = fmt.Errorf("read the PDB of %q: %w", m.Path, err)
	}
	return s
}

// image is the image of m. Where the runtime does not say where it begins it is looked for before the metadata.
func (n *namer) image(m *Module) (*metadata.Image, error) {
	v := view.Lasting(n.memory, n.budget)
	if m.Image != 0 {
		return metadata.OpenImage(&v, m.Image)
	}
	return metadata.ImageAround(&v, m.Metadata)
}

// beside reads the PDB in the file that im names, which lies in the folder of the assembly; nil if there is none.
func (n *namer) beside(m *Module, im *metadata.Image) ([]byte, error) {
	ref, ok, err := pdb.Beside(im)
	if err != nil || !ok || n.open == nil || !path.IsAbs(m.Path) {
		return nil, err
	}
	// The image may name any file: what is read for somebody else are PDBs alone.
	if !strings.HasSuffix(ref.Name, ".pdb") || strings.ContainsRune(m.Path, 0) {
		return nil, nil
	}
	f, err := n.open(path.Join(path.Dir(m.Path), ref.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if f.Close != nil {
		defer f.Close()
	}
	return n.copyPDB(f, ref.ID)
}

// copyPDB copies the PDB f, whose file may change later, if it has that id.
func (n *namer) copyPDB(f *module.File, id pdb.ID) ([]byte, error) {
	size := int64(len(f.Data))
	if size > pdb.MaxSize {
		return nil, fmt.Errorf("it has %d bytes, more than %d", size, pdb.MaxSize)
	}
	if !n.budget.Spend(size) {
		return nil, n.budget.Refusal()
	}
	if !n.budget.Hold(size) {
		return nil, n.budget.Refusal()
	}
	data := make([]byte, size)
	err := module.Guard(f.Path, func() error {
		copy(data, f.Data)
		return nil
	})
	if err == nil {
		var p *pdb.File
		if p, err = pdb.Parse(data, n.budget); err == nil && p.ID() != id {
			err = errOtherBuild
		}
	}
	if err != nil {
		n.budget.Release(size)
		return nil, err
	}
	return data, nil
}

// note keeps why a PDB could not be used, once.
func (n *namer) note(err error) {
	known := func(e error) bool { return e.Error() == err.Error() }
	if err != nil && len(n.errs) < maxErrs && !slices.ContainsFunc(n.errs, known) {
		n.errs = append(n.errs, err)
	}
}

// err is why PDBs could not be used; nil if all could.
func (n *namer) err() error { return errors.Join(n.errs...) }

const maxErrs = 8
