package debugfile

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"path"
	"strings"
	"syscall"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/work"
)

// errNotDir is what a path through a file gives: nothing can be there.
var errNotDir = syscall.ENOTDIR

// link is the contents of .gnu_debuglink: the base name of a file and the CRC-32 of all of it.
// Source: gdb manual, "Separate Debug Files".
type link struct {
	name string
	crc  uint32
}

// maxLinkName bounds the names that links hold, NAME_MAX of Linux.
const maxLinkName = 255

// debugLink reads the link of m. A name with a slash is not followed: the link holds a base
// name, and the object may be hostile.
func debugLink(m *module.Module) (link, bool) {
	var l link
	ok := false
	_ = module.Guard(m.Path, func() error {
		s, found := m.Section(".gnu_debuglink")
		if !found || s.Compressed {
			return nil
		}
		n := bytes.IndexByte(s.Data[:min(len(s.Data), maxLinkName+1)], 0)
		at := (n + 4) &^ 3 // behind the NUL, aligned to 4 bytes
		if n <= 0 || len(s.Data) < at+4 {
			return nil
		}
		l = link{string(s.Data[:n]), m.Order().Uint32(s.Data[at:])}
		ok = !strings.Contains(l.name, "/") && l.name != "." && l.name != ".."
		return nil
	})
	return l, ok
}

// summed is how many bytes checksums are taken of at once. A file of the target may be as large as it
// likes without taking room: the budget is asked before each.
const summed = 1 << 20

// checksum accepts the bytes of the file that l links to, if b allows to read them all.
func checksum(l link, data []byte, b *work.Budget) error {
	got := uint32(0)
	for left := data; len(left) > 0; left = left[min(summed, len(left)):] {
		part := left[:min(summed, len(left))]
		if !b.Spend(int64(len(part))) {
			return fmt.Errorf("refuse %q: to take the checksum of its %d bytes: %w", l.name, len(data), b.Refusal())
		}
		got = crc32.Update(got, crc32.IEEETable, part)
	}
	if got != l.crc {
		return fmt.Errorf("refuse %q: its checksum is %#x, the link wants %#x", l.name, got, l.crc)
	}
	return nil
}

// Alt returns the file that holds what dwz moved out of m, a debug file or an object with
// debug sections; nil if m needs none or it is not there. It is found by the path in
// .gnu_debugaltlink, relative to m's own, or by the build id behind that.
func (f *Finder) Alt(m *module.Module) (*module.Module, error) {
	name, id, ok := altLink(m)
	if !ok {
		return nil, nil
	}
	var names []string
	if path.IsAbs(name) {
		names = append(names, name)
	} else if path.IsAbs(m.Path) {
		names = append(names, path.Join(path.Dir(m.Path), name))
	}
	for _, dir := range f.dirs {
		names = append(names, path.Join(dir, ".build-id", id[:2], id[2:]+".debug"),
			path.Join(dir, ".dwz", path.Base(name)))
	}
	return f.first(m, names, sameBuildID(id))
}

// altLink reads .gnu_debugaltlink: a path and a build id.
func altLink(m *module.Module) (name, id string, ok bool) {
	_ = module.Guard(m.Path, func() error {
		s, found := m.Section(".gnu_debugaltlink")
		if !found || s.Compressed {
			return nil
		}
		n := bytes.IndexByte(s.Data[:min(len(s.Data), 4096)], 0) // PATH_MAX
		if n <= 0 || len(s.Data)-n-1 < 4 || len(s.Data)-n-1 > 64 {
			return nil
		}
		name, id, ok = string(s.Data[:n]), hex.EncodeToString(s.Data[n+1:]), true
		return nil
	})
	return name, id, ok
}

// Package returns the DWARF package of m, the file m's path with ".dwp" behind, nil if
// it is not there.
func (f *Finder) Package(m *module.Module) (*module.Module, error) {
	if !path.IsAbs(m.Path) {
		return nil, nil
	}
	return f.first(m, []string{m.Path + ".dwp"}, accept)
}

// Split returns the file of split DWARF that a skeleton unit of m names, nil if it is not
// there. Whether its units are those wanted, the unit's id tells; that is the reader's.
func (f *Finder) Split(m *module.Module, compDir, name string) (*module.Module, error) {
	if name == "" || len(name) > 4096 || len(compDir) > 4096 {
		return nil, nil
	}
	var names []string
	switch {
	case path.IsAbs(name):
		names = append(names, name)
	case path.IsAbs(compDir):
		names = append(names, path.Join(compDir, name))
	}
	if path.IsAbs(m.Path) { // the build may have been moved as a whole
		names = append(names, path.Join(path.Dir(m.Path), name), path.Join(path.Dir(m.Path), path.Base(name)))
	}
	return f.first(m, names, accept)
}

func accept(*module.Module, []byte) error { return nil }
