//go:build linux && (amd64 || arm64)

package exact

import (
	"bytes"
	"fmt"
	"os"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// space is the address space of one process: mappings, modules, and the code decoded so far.
// Threads share it.
type space struct {
	live
	wide    bool // 64-bit code
	handles bool // a handler for SIGUSR1 is installed
	dirty   bool // a system call may have changed the mappings
	text    []byte
	table   *maps.Table
	modules *module.Set
	walker  *unwind.Walker
	code    map[uint64]instruction
	parked  parked
	below   map[uint64]bool         // see isBelow
	files   map[string]*module.File // kept over all Sets, so that opening again costs nothing
}

func newSpace(pid int) *space {
	return &space{live: live{pid}, wide: true, dirty: true, below: map[uint64]bool{},
		files: map[string]*module.File{}}
}

// refresh reads the mappings again. It keeps modules and walker if nothing has changed.
func (s *space) refresh() error {
	s.dirty = false
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.pid))
	if err != nil {
		return fmt.Errorf("read mappings: %w", err)
	}
	if bytes.Equal(text, s.text) {
		return nil
	}
	s.text = text
	if s.table, err = maps.Parse(bytes.NewReader(text)); err != nil {
		return err
	}
	s.code = map[uint64]instruction{}
	if s.modules != nil {
		if err := s.modules.Close(); err != nil {
			return fmt.Errorf("close modules: %w", err)
		}
	}
	s.modules = module.NewSet(s.table, module.Image{Mapping: s.open, Memory: s.live})
	s.walker = walkerOf(s.modules, resolve.New(s.modules, resolve.Options{}))
	return nil
}

// walkerOf returns a Walker that knows the runtimes, as the program's own.
func walkerOf(set *module.Set, names unwind.Functions) *unwind.Walker {
	w, runtimes := unwind.NewWalker(set, names), vm.NewTable(vm.Kinds, nil).Process(set.Image())
	runtimes.Scan(set)
	w.Use(runtimes)
	return w
}

// open implements module.Opener. Closing a file leaves it mapped for the next Set.
func (s *space) open(m *maps.Mapping) (*module.File, error) {
	if f := s.files[m.Path]; f != nil {
		return f, nil
	}
	data, err := fileData(m.Path)
	if err != nil {
		return nil, err
	}
	f := &module.File{Data: data, Path: m.Path, Close: func() error { return nil }}
	s.files[m.Path] = f
	return f, nil
}

// isCode reports whether addr may be executed.
func (s *space) isCode(addr uint64) bool {
	m := s.table.Find(mem.Addr(addr))
	return m != nil && m.Perm&maps.Exec != 0
}

// instruction decodes the code at pc. What cannot be written is remembered.
func (s *space) instruction(pc uint64) instruction {
	if in, ok := s.code[pc]; ok {
		return in
	}
	var b [maxInstruction + 1]byte
	n, _ := s.ReadMem(b[:], mem.Addr(pc))
	in := s.decode(b[:n])
	if m := s.table.Find(mem.Addr(pc)); m != nil && m.Perm&maps.Write == 0 {
		s.code[pc] = in
	}
	return in
}

// stackAt returns the mapping that holds sp. The kernel lets the main stack grow without a
// system call, so a miss asks for the mappings once more.
func (s *space) stackAt(sp uint64) (*maps.Mapping, error) {
	if m := s.table.Find(mem.Addr(sp)); m != nil {
		return m, nil
	}
	if err := s.refresh(); err != nil {
		return nil, err
	}
	return s.table.Find(mem.Addr(sp)), nil
}
