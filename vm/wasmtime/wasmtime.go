// Package wasmtime walks and names WebAssembly that wasmtime compiled, without a profiler switched on in the process.
//
// Wasmtime keeps each module that it compiled or loaded in memory as an ELF image with symbols, addresses in the file
// of the module and, where asked for, DWARF; [Runtime.Scan] finds these images by their mappings. Rows of the code
// come from the image's unwind tables and its instructions. Where the host's own code has no tables,
// [Runtime.Waypoints] finds by what the store keeps where the stack passed from WebAssembly to the host.
//
// A module may be dropped and another one loaded at its address at any time. So [Runtime.Copy] copies, while the thread
// is stopped, what the names of the functions on its stack rest on, and a name is given only where that fits.
//
// Images are bytes of a process that may be hostile: sections, sizes and counts are bounded (see image.go), and what is
// kept is charged to the budget of the modules.
//
// Sources: crates/environ/src/obj.rs, crates/wasmtime/src/compile.rs, crates/wasmtime/src/runtime/vm/vmcontext.rs and
// crates/unwinder of wasmtime; seen in v14 to v44.
package wasmtime

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync/atomic"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// Runtime is what wasmtime compiled in one process. Copy may be called beside the goroutine that walks.
type Runtime struct {
	memory mem.Reader
	budget *work.Budget
	table  *maps.Table
	// known is for Copy too. It reads of images what is not changed any more.
	known      atomic.Pointer[known]
	generation uint64
	seed       maphash.Seed
	sites      *sites.Table[place, []profile.Frame]
}

// known is the images of the process, by address, and the bounds of all their code.
type known struct {
	images    []*image
	low, high mem.Addr
	table     *maps.Table
}

var _ interface {
	unwind.RowSource
	unwind.Identifier
	unwind.Waypointer
	snapshot.Copier
	ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread // vm.ThreadDescriber
} = (*Runtime)(nil)

// New returns the Runtime of a process. It reads nothing before Scan.
func New(i module.Image) *Runtime {
	r := &Runtime{memory: i.Memory, budget: i.Budget, seed: maphash.MakeSeed(),
		sites: sites.NewTable[place, []profile.Frame](i.Budget, maxSites)}
	r.known.Store(&known{})
	return r
}

// String names the runtime in messages.
func (r *Runtime) String() string { return "wasmtime" }

// Err says what is not named for want of memory, nil for nothing.
func (r *Runtime) Err() error {
	if err := r.sites.Err(); err != nil {
		return fmt.Errorf("%v: %w", r, err)
	}
	return nil
}

// Bounds of one process: modules, mappings that look like one and are none, of which each takes some reads, and bytes
// of names.
const (
	maxImages = 1 << 14
	maxNone   = 1 << 12
	maxSites  = 32 << 20
)

// Scan finds the images among the mappings: see [vm.Whole]. Those that are there still are not read again.
func (r *Runtime) Scan(set *module.Set) (present bool, err error) {
	r.table = set.Table()
	if r.memory == nil {
		return false, nil
	}
	old, k := r.known.Load(), &known{table: r.table}
	var errs []error
	all := r.table.All()
	none := 0
	for i := 1; i < len(all); i++ {
		x := &all[i]
		if !mayBeText(&all[i-1], x) {
			continue
		}
		if len(k.images) == maxImages || none == maxNone {
			errs = append(errs, fmt.Errorf("read modules of wasmtime from %#x on: there are more than %d, or than %d "+
				"mappings that look like one", uint64(x.Start), maxImages, maxNone))
			break
		}
		none++
		im, err := r.imageAt(x, &all[i-1], old.find(x.Start))
		if err != nil && len(errs) < 8 {
			errs = append(errs, fmt.Errorf("read module of wasmtime at %#x: %w", uint64(x.Start), err))
		}
		if im != nil {
			none--
			k.add(im)
		}
	}
	for _, im := range old.images {
		if k.find(im.text.Start) != im {
			im.budget.ReleaseAll()
		}
	}
	r.known.Store(k)
	return len(k.images) > 0, errors.Join(errs...)
}

// mayBeText reports whether x can hold the code of an image whose header lies in the mapping before it: wasmtime makes
// the whole image read-only and the pages of its code executable.
func mayBeText(before, x *maps.Mapping) bool {
	const all = maps.Read | maps.Write | maps.Exec | maps.Shared
	return x.Perm&all == maps.Read|maps.Exec && before.Perm&all == maps.Read && before.End == x.Start &&
		before.Inode == x.Inode && before.Dev == x.Dev && (x.Path == "" || x.IsFile())
}

// live is the memory of images, which does not change as long as they are there: whether they still are is compared.
func (r *Runtime) live() *view.View {
	v := view.Lasting(r.memory, r.budget)
	return &v
}

// imageAt returns the image whose code begins with the mapping x, nil if there is none. An error says what is missing,
// with an image or without; old was there before, nil for none. Where it cannot be seen whether that is there still for
// want of budget it stays: names are compared anyway.
func (r *Runtime) imageAt(x, before *maps.Mapping, old *image) (*image, error) {
	v := r.live()
	if old != nil && old.text.Start == x.Start && (old.unchanged(v) || !old.stale && v.Refused() != nil) {
		return old, old.missing
	}
	const tries = 3 // another module may be loaded there while one is read
	for range tries {
		l, err := probe(v, x, before)
		if l == nil || err != nil {
			return nil, err
		}
		r.generation++
		im, err := r.read(v, l)
		if err != nil {
			return nil, err
		}
		if im.still(v) {
			return im, im.missing
		}
		im.budget.ReleaseAll()
		if err := v.Refused(); err != nil {
			return nil, err
		}
	}
	return nil, errRestless
}

var errRestless = errors.New("it was replaced again and again while it was read")

func (k *known) add(im *image) {
	if len(k.images) == 0 {
		k.low = im.text.Start
	}
	k.images = append(k.images, im) // mappings ascend
	k.high = im.text.End
}

// find returns the image whose code holds a, nil if there is none.
func (k *known) find(a mem.Addr) *image {
	if a < k.low || a >= k.high {
		return nil
	}
	i, found := slices.BinarySearchFunc(k.images, a, func(im *image, a mem.Addr) int {
		switch {
		case im.text.End <= a:
			return -1
		case im.text.Start > a:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return k.images[i]
}

// Region implements [unwind.Runtime].
func (r *Runtime) Region(pc mem.Addr) (unwind.Region, bool) {
	im := r.known.Load().find(pc)
	if im != nil && im.stale {
		im = r.reread(im)
	}
	if im == nil {
		return unwind.Region{}, false
	}
	return im.text, true
}

// reread replaces an image that was seen to be another now.
func (r *Runtime) reread(old *image) *image {
	k, next := r.known.Load(), &known{table: r.table}
	var found *image
	for _, im := range k.images {
		if im != old {
			next.add(im)
			continue
		}
		old.budget.ReleaseAll()
		x := r.table.Find(old.text.Start)
		before := r.table.Find(old.text.Start - 1)
		if x == nil || before == nil || x.Start != old.text.Start || !mayBeText(before, x) {
			continue
		}
		if found, _ = r.imageAt(x, before, nil); found != nil {
			next.add(found)
		}
	}
	r.known.Store(next)
	return found
}
