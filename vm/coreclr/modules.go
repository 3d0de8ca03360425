package coreclr

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"unicode/utf16"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/view"
)

// moduleKey is a module with the words that lead to what it is. Another that lies there later mostly has others; where
// it has not, the id in its metadata is another.
type moduleKey struct{ at, base, path, name mem.Addr }

// knownModule is a module that was read, and whose metadata is compared with what it was once a walk.
type knownModule struct {
	Module
	tables  *metadata.Tables
	checked int // walk
	retry       // of one that failed
}

const moduleSize = 2 << 10 // bytes

// moduleOfTable is the module that defines the type of a MethodTable.
func (r *Runtime) moduleOfTable(v *view.View, table mem.Addr) Module {
	f := v.Fields(table)
	at := f.Addr(r.layout.tableModule)
	if f.Err != nil {
		return Module{Err: fmt.Errorf("read the module of type %#x: %w", uint64(table), f.Err)}
	}
	return r.moduleAt(v, at)
}

// moduleAt is the module at a.
func (r *Runtime) moduleAt(v *view.View, a mem.Addr) Module {
	l, f := r.layout, v.Fields(a)
	key := moduleKey{at: a}
	if l.modulePath != unknown {
		key.path = f.Addr(l.modulePath)
	}
	if l.moduleBase != unknown {
		key.base = f.Addr(l.moduleBase)
	}
	if key.base == 0 {
		key.base = r.precompiledBase(a)
	}
	if key.base == 0 && l.moduleName != unknown {
		key.name = f.Addr(l.moduleName)
	}
	if f.Err != nil {
		return Module{Addr: a, Err: fmt.Errorf("read module %#x: %w", uint64(a), f.Err)}
	}
	m, ok := r.modules.Get(key)
	switch {
	case !ok:
		m = &knownModule{}
	case m.Err != nil && !m.due(r.walks), m.Err == nil && r.unchanged(m):
		return m.Module
	}
	m.Module, m.checked = Module{Addr: a}, r.walks
	if m.Err = r.readModule(m, key); m.Err != nil {
		m.failed(r.walks)
	}
	r.modules.Keep(key, m, moduleSize+len(m.Path))
	return m.Module
}

// unchanged reports whether m is what it was.
func (r *Runtime) unchanged(m *knownModule) bool {
	if m.checked == r.walks {
		return true
	}
	same, err := m.tables.Unchanged(&r.lasting)
	m.checked = r.walks
	return same && err == nil
}

// readModule finds path, image and metadata of a module.
func (r *Runtime) readModule(m *knownModule, key moduleKey) (err error) {
	v := &r.lasting
	if m.Path, err = utf16At(v, key.path); err != nil {
		return fmt.Errorf("read the path of module %#x: %w", uint64(m.Addr), err)
	}
	if key.base != 0 {
		im, err := metadata.OpenImage(v, key.base)
		switch {
		case err == nil:
			m.Image, m.Metadata = key.base, im.Metadata()
		case !errors.Is(err, metadata.ErrFormat) || r.layout.moduleName == unknown:
			return err
		default: // its code is in an image of several modules
			if key.name, err = r.nameOfModule(m.Addr); err != nil {
				return err
			}
		}
	}
	if m.Metadata == 0 {
		if m.Metadata, err = r.metadataByName(key.name); err != nil {
			return err
		}
	}
	if m.tables, err = metadata.Open(v, m.Metadata); err != nil {
		return err
	}
	m.ID = m.tables.ID()
	return nil
}

// nameOfModule is where the name of the assembly is.
func (r *Runtime) nameOfModule(a mem.Addr) (mem.Addr, error) {
	f := r.lasting.Fields(a)
	return f.Addr(r.layout.moduleName), f.Err
}

// precompiledBase is where the image of the module at a begins, as its precompiled code says; 0 if it has none.
func (r *Runtime) precompiledBase(a mem.Addr) mem.Addr {
	for i := range r.sections.Load().list {
		if s := &r.sections.Load().list[i]; s.module == a {
			return s.start
		}
	}
	return 0
}

// utf16At reads a path, as the runtime keeps it in UTF-16; "" if a is 0.
func utf16At(v *view.View, a mem.Addr) (string, error) {
	const most = 1024
	var units []uint16
	for i := mem.Addr(0); a != 0; i++ {
		if i == most {
			return "", fmt.Errorf("a path has more than %d characters", most)
		}
		unit, err := v.Uint(a+2*i, 2)
		if err != nil {
			return "", err
		}
		if unit == 0 {
			break
		}
		units = append(units, uint16(unit))
	}
	return string(utf16.Decode(units)), nil
}

// metadataByName finds metadata by the name of its assembly: that lies in the metadata's heap of strings, and the root
// is at the next "BSJB" before it whose heap holds it.
func (r *Runtime) metadataByName(name mem.Addr) (mem.Addr, error) {
	const most, piece = 64 << 20, 64 << 10
	if r.table == nil {
		return 0, errNoMetadata
	}
	x := r.table.Find(name)
	if x == nil {
		return 0, errNoMetadata
	}
	v, buf, unread := &r.lasting, make([]byte, piece+4), error(nil)
	for end := name; end > x.Start && name-end < most; {
		start := max(x.Start, end-min(end, piece))
		b := buf[:min(int(end-start)+4, int(x.End-start))]
		if _, err := v.ReadMem(b, start); err != nil {
			return 0, fmt.Errorf("search for its metadata: %w", err)
		}
		for {
			i := bytes.LastIndex(b, []byte("BSJB"))
			if i < 0 {
				break
			}
			if root := start + mem.Addr(i); root%4 == 0 {
				switch t, err := metadata.Open(v, root); {
				case err == nil && t.HasName(name):
					return root, nil
				case err != nil && !errors.Is(err, metadata.ErrFormat): // it may be this one
					unread = err
				}
			}
			b = b[:i]
		}
		end = start
	}
	return 0, cmp.Or(unread, errNoMetadata)
}

var errNoMetadata = errors.New("its metadata was not found")
