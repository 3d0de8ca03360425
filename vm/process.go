package vm

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol/sourcemap"
	"github.com/fpstack/fpstack/unwind"
)

// maxErrs bounds the errors that are kept of one process, which may load the same module again and again.
const maxErrs = 16

// Process is the runtimes of one process. It implements [unwind.Runtimes]. It is used by the goroutine that walks;
// Copiers may be called by any.
type Process struct {
	table   *Table
	image   module.Image
	blocks  *mem.Blocks // of the image's memory, below facts
	facts   *mem.Keeper
	met     map[*module.Module][]unwind.Runtime // empty for none
	set     *module.Set                         // of the last Scan
	wholes  []whole                             // nil before the first Scan
	all     []unwind.Runtime
	copiers atomic.Pointer[[]snapshot.Copier]
	errs    []error
	places  *sourcemap.Files // nil where there are no files
}

// whole is a runtime of the process as a whole.
type whole struct {
	Whole
	present bool
}

const (
	// maxFacts bounds the bytes that are kept of what runtimes read.
	maxFacts = 1 << 20
	// maxBlocks bounds what is held of the memory while an event loop is named.
	maxBlocks = 1 << 10
)

// Process returns the runtimes of the process that image shows. None is known before Scan.
func (t *Table) Process(image module.Image) *Process {
	blocks := mem.NewBlocks(image.Memory, maxBlocks)
	p := &Process{table: t, image: image, blocks: blocks, facts: mem.NewKeeper(blocks, maxFacts),
		met: map[*module.Module][]unwind.Runtime{}}
	if p.image.Scratch == nil {
		p.image.Scratch = image.Memory
	}
	p.image.Memory, p.image.Budget = p.facts, t.budget.Share()
	if image.Path != nil {
		p.places = sourcemap.NewFiles(image.Path, t.budget)
	}
	return p
}

// Facts is what runtimes read of the memory when they were recognised: it belongs into the Memory of a snapshot, so
// that they can be recognised again when it is replayed.
func (p *Process) Facts() []mem.Range { return p.facts.Ranges() }

// Scan implements [unwind.Runtimes]. It looks for runtimes in the program itself and in files whose names say that
// they may hold one, and forgets those whose modules are gone. Others are found when a walk comes to them.
func (p *Process) Scan(set *module.Set) {
	p.set = set
	for m := range p.met {
		if set.Find(m.Start()) != m {
			delete(p.met, m)
		}
	}
	p.scanWholes(set)
	p.list()
	for _, r := range p.all {
		if r, ok := r.(Debugger); ok {
			r.Debug(p.table.debug)
		}
		if r, ok := r.(Mapper); ok {
			r.Mapped(set)
		}
	}
	first := true
	for i := range set.Table().All() {
		m := &set.Table().All()[i]
		if !m.IsFile() || m.Perm&maps.Exec == 0 || strings.HasPrefix(m.Path, memoryFile) {
			continue
		}
		if first || p.table.mayHold(m.Path) {
			if found := set.Find(m.Start); found != nil {
				p.Meet(found)
			}
		}
		first = false
	}
}

// maxOwn bounds the libraries that are looked at unasked.
const maxOwn = 8

// MeetLibraries looks for runtimes in libraries, of which any may hold coroutines or tasks: in all, or in some of those
// that do not lie in the folders of the system.
func (p *Process) MeetLibraries(all bool) {
	left := maxOwn
	for i := range p.set.Table().All() {
		m := &p.set.Table().All()[i]
		if !m.IsFile() || m.Perm&maps.Exec == 0 || strings.HasPrefix(m.Path, memoryFile) ||
			!all && (left == 0 || maps.OfSystem(m.Path)) {
			continue
		}
		if found := p.set.Find(m.Start); found != nil {
			if _, met := p.met[found]; !met {
				left--
				p.Meet(found)
			}
		}
	}
}

// memoryFile begins the path of a file in memory (memfd_create(2)): .NET maps its code from one, before the program.
const memoryFile = "/memfd:"

// scanWholes lets the runtimes of the whole process look again. One that panics is present no longer.
func (p *Process) scanWholes(set *module.Set) {
	if p.wholes == nil {
		p.wholes = []whole{}
		for i := range p.table.kinds {
			if k := &p.table.kinds[i]; k.Whole != nil {
				p.wholes = append(p.wholes, whole{Whole: k.Whole(p.image)})
			}
		}
	}
	for i := range p.wholes {
		w := &p.wholes[i]
		w.present = false
		p.keep(module.Guard(w.String(), func() (err error) {
			w.present, err = w.Scan(set)
			return err
		}))
	}
}

// keep keeps an error, once.
func (p *Process) keep(err error) {
	if err == nil || len(p.errs) >= maxErrs ||
		slices.ContainsFunc(p.errs, func(e error) bool { return e.Error() == err.Error() }) {
		return
	}
	p.errs = append(p.errs, err)
}

// mayHold reports whether a file may hold a runtime by its name.
func (t *Table) mayHold(file string) bool {
	name := path.Base(file)
	return slices.ContainsFunc(t.kinds, func(k Kind) bool {
		return slices.ContainsFunc(k.Files, func(f string) bool { return strings.HasPrefix(name, f) })
	})
}

// Meet implements [unwind.Runtimes].
func (p *Process) Meet(m *module.Module) {
	if _, ok := p.met[m]; ok {
		return
	}
	if p.has(m.Object()) {
		p.met[m] = nil
		return
	}
	all, err := p.table.Recognise(m, p.image)
	p.keep(err)
	p.met[m] = all
	if len(all) > 0 {
		p.list()
	}
	for _, r := range all {
		if r, ok := r.(Mapper); ok && p.set != nil {
			r.Mapped(p.set)
		}
		if r, ok := r.(LockHolder); ok && p.table.holders {
			r.CopyHolder()
		}
		if r, ok := r.(Translator); ok && p.places != nil {
			if p.table.translate {
				r.Translate(p.places.Map, true)
			} else {
				r.Translate(p.places.Inside, false)
			}
		}
	}
}

// has reports whether a runtime was made of o, which is mapped at another place too.
func (p *Process) has(o module.Object) bool {
	for m, all := range p.met {
		if len(all) > 0 && m.Object() == o {
			return true
		}
	}
	return false
}

// list makes the lists again.
func (p *Process) list() {
	p.all = nil
	for _, k := range sorted(p.met) {
		p.all = append(p.all, p.met[k]...)
	}
	for _, w := range p.wholes {
		if w.present {
			p.all = append(p.all, w.Whole)
		}
	}
	var copiers []snapshot.Copier
	for _, r := range p.all {
		if c, ok := r.(snapshot.Copier); ok {
			copiers = append(copiers, c)
		}
	}
	p.copiers.Store(&copiers)
}

// sorted lists modules in the order of their use, so that runtimes are asked in a steady order.
func sorted(met map[*module.Module][]unwind.Runtime) []*module.Module {
	ms := make([]*module.Module, 0, len(met))
	for m := range met {
		ms = append(ms, m)
	}
	slices.SortFunc(ms, func(a, b *module.Module) int { return a.ID - b.ID })
	return ms
}

// All implements [unwind.Runtimes].
func (p *Process) All() []unwind.Runtime { return p.all }

// Copiers are what the runtimes need to be copied of each thread.
func (p *Process) Copiers() []snapshot.Copier {
	if c := p.copiers.Load(); c != nil {
		return *c
	}
	return nil
}

// DumpCopier is a runtime that copies more of each thread for a dump, where a stop may take longer than in a recording.
type DumpCopier interface {
	// DumpCopier is called for each thread, after those of [Process.Copiers], of all threads where they are stopped
	// together.
	DumpCopier() snapshot.Copier
}

// DumpCopiers are what the runtimes need to be copied of each thread for a dump.
func (p *Process) DumpCopiers() []snapshot.Copier {
	all := slices.Clone(p.Copiers())
	for _, r := range p.all {
		if d, ok := r.(DumpCopier); ok {
			all = append(all, snapshot.Last{Copier: d.DumpCopier()})
		}
	}
	return all
}

// Err is why runtimes that the process has cannot be used, or not whole; nil if all can. A runtime that meets more
// later has an Err of its own.
func (p *Process) Err() error {
	errs := slices.Clone(p.errs)
	for _, m := range sorted(p.met) {
		for _, r := range p.met[m] {
			if e, ok := r.(interface{ Err() error }); ok {
				errs = append(errs, e.Err())
			}
		}
	}
	for _, w := range p.wholes {
		if e, ok := w.Whole.(interface{ Err() error }); ok {
			errs = append(errs, e.Err())
		}
	}
	if p.places != nil {
		errs = append(errs, p.places.Err())
	}
	return errors.Join(errs...)
}

// Close lets runtimes of the whole process give up what they have open; they read what was written last before. Their
// Sites keep their names.
func (p *Process) Close() error {
	var errs []error
	for _, w := range p.wholes {
		if c, ok := w.Whole.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	p.image.Budget.ReleaseAll()
	return errors.Join(errs...)
}

// FiberListers are the runtimes that have fibers.
func (p *Process) FiberListers() []FiberLister {
	var out []FiberLister
	for _, r := range p.all {
		if l, ok := r.(FiberLister); ok {
			out = append(out, l)
		}
		if m, ok := r.(MoreFibers); ok {
			if l, ok := m.MoreFibers().(FiberLister); ok {
				out = append(out, l)
			}
		}
	}
	return out
}
