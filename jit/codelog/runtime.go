// Package codelog names code that a process made while it runs, by files that its runtime writes for profilers: it
// follows them while they grow, keeps which function was at which address at which time, and says what executes in
// the frames of a stack. The forms of the files are rooms beside it.
//
// The caller gives it a process that runs (module.Image.Live), and calls it as an unwind.Runtime. Files are read by a
// goroutine of its own, one at a time: the walk waits for it no longer than a few milliseconds, names are asked for
// later. Nothing is opened before the first frame in such code has been walked, so that no thread is stopped meanwhile
// that waits for us.
//
// The files are hostile: they name nothing but code of their own process, and what they may cost is bounded.
package codelog

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fpstack/fpstack/jit/codename"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/sites"
	"github.com/fpstack/fpstack/vm/view"
)

const (
	// walkWait is how long a walk waits for what a file says more since it was read last.
	walkWait = 20 * time.Millisecond
	// settleWait is how long names are waited for.
	settleWait = 2 * time.Second
	// restShare is the part of the time, one in so many, in which files are read that grow all the time, if that takes
	// more than restFrom.
	restShare = 20
	restFrom  = 100 * time.Microsecond
	// maxSites bounds the places that are named, and maxCompared what was found of their code, bytes.
	maxSites, maxCompared = 32 << 20, 8 << 20
	// maxPending bounds those that no file has named so far: all are looked up again whenever a file has grown.
	maxPending = 1 << 14
)

// Runtime is the files of one process. It implements vm.Whole, unwind.Identifier, resolve.SiteNamer and
// resolve.Settler.
type Runtime struct {
	name  string
	image module.Image
	set   *module.Set // of the goroutine that walks

	mu      sync.Mutex
	table   *maps.Table
	live    *module.Live
	files   []*file // by precedence; what is in them belongs to the goroutine that works, but for their books
	working chan struct{}
	late    bool // somebody waited for the work under way in vain
	closed  bool
	began   time.Time     // when the last work that has ended began
	ended   time.Time     // when it ended
	cost    time.Duration // how long it took
	look    bool          // there may be other files now
	none    bool          // no file is there that could be read
	sites   *sites.Table[place, site]
	pending []unwind.Site // no file named them so far
	problem error

	compared sites.Recent[numbered, comparison]
}

// place is what makes a site: an address, and the record that had it. Where none is known file is below 0, and record
// is the second in which it was seen: another function may have the address in another.
type place struct {
	numbered
	pc, lookup mem.Addr
}

// site is a place and what is known of it.
type site struct {
	place
	at time.Duration // when it was seen first, by the clock of the process
	// replaced is Code of the record that had the address in a file, and not in memory, when it was seen; 0 for none.
	replaced uint64
	frame    profile.Frame
	named    bool
}

// New returns what names code of the process that image shows by files of those forms; of several that know the same
// code the first names it. name is that of the runtime in messages.
func New(name string, image module.Image, formats ...Format) *Runtime {
	r := &Runtime{name: name, image: image, sites: sites.NewTable[place, site](image.Budget, maxSites),
		compared: sites.NewRecent[numbered, comparison](image.Budget, maxCompared)}
	for _, f := range formats {
		r.files = append(r.files, &file{format: f, book: Book{budget: image.Budget}})
	}
	return r
}

// String implements unwind.Runtime.
func (r *Runtime) String() string { return r.name }

// Scan implements vm.Whole: a process with code that no object holds may have such files. They are looked for later.
func (r *Runtime) Scan(set *module.Set) (present bool, err error) {
	if r.image.Live == nil {
		return false, nil
	}
	r.set = set
	all := set.Table().All()
	present = slices.ContainsFunc(all, func(m maps.Mapping) bool { return m.MayBeMade() })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.table, r.look = set.Table(), true
	return present, nil
}

// made reports whether a process made the code at pc.
func (r *Runtime) made(m *module.Module, pc mem.Addr) bool {
	if m != nil {
		return m.Made()
	}
	at := r.set.Table().Find(pc)
	return at != nil && at.MayBeMade()
}

// Region implements unwind.Runtime.
func (r *Runtime) Region(pc mem.Addr) (unwind.Region, bool) {
	if at := r.set.Table().Find(pc); at == nil || !at.MayBeMade() {
		return unwind.Region{}, false
	}
	for i, f := range r.files {
		if record, number, ok := f.book.Find(pc, 0); ok {
			return unwind.Region{Start: record.Start, End: record.End,
				Generation: number*uint64(len(r.files)) + uint64(i)}, true
		}
	}
	return unwind.Region{}, false
}

// Identify implements unwind.Identifier.
func (r *Runtime) Identify(t *snapshot.Thread, s *unwind.Stack, m mem.Reader) {
	asked := false
	v := view.Over(m, m, r.image.Budget)
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Site != 0 || f.Signal || f.PC == 0 || !r.made(f.Module, f.LookupPC()) {
			continue
		}
		if !asked {
			r.catchUp(t.Time)
			asked = true
		}
		if site := r.siteOf(f, t.Time, &v); site != 0 {
			f.Site, f.Runtime = site, r
		}
	}
}

// noteUnread is of a frame whose code was not compared with what a file says.
const noteUnread = "its code could not be read, which may be another's than its file says"

// siteOf returns the Site of a frame in memory v, 0 if there can be none.
func (r *Runtime) siteOf(f *unwind.Frame, taken time.Time, v *view.View) unwind.Site {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == nil || r.none {
		return 0
	}
	at := place{numbered{file: -1}, f.PC, f.LookupPC()}
	when := r.when(taken)
	found, record := r.find(&at, when, 0)
	var not uint64
	if found && record.Code != 0 && r.isNewest(&at) {
		switch r.compare(at.numbered, &record, v) {
		case replaced:
			not, at = record.Code, place{numbered{file: -1}, at.pc, at.lookup}
			found, record = r.find(&at, when, not)
		case unread:
			f.Unsure, f.Note = true, noteUnread
		}
	}
	if !found && len(r.pending) < maxPending/2 {
		at.record = uint64(when / time.Second)
	}
	n, ok := r.sites.Find(at)
	if ok || !found && len(r.pending) >= maxPending {
		return n
	}
	s := site{place: at, at: when, replaced: not}
	if found {
		s.fill(&record)
	}
	n = r.sites.Add(at, s, s.size())
	if n != 0 && (!found || record.Detail != 0) { // lines are read by who works
		r.pending = append(r.pending, n)
	}
	return n
}

// when is a moment by the clock of the process, now if t is not known.
func (r *Runtime) when(t time.Time) time.Duration {
	if t.IsZero() {
		t = time.Now()
	}
	return r.live.Monotonic(t)
}

// find looks for the record of a place, not one with that Code, and puts its number there.
func (r *Runtime) find(at *place, when time.Duration, not uint64) (found bool, record Record) {
	for i, f := range r.files {
		record, number, ok := f.book.Find(at.lookup, when)
		if ok && (not == 0 || record.Code != not) {
			at.file, at.record = i, number
			return true, record
		}
	}
	return false, Record{}
}

// isNewest reports whether nothing was said of a place later than its record: what a later one says is in memory, and
// was not when the place was seen.
func (r *Runtime) isNewest(at *place) bool {
	_, newest, ok := r.files[at.file].book.Find(at.lookup, 0)
	return ok && newest == at.record
}

// fill names s by its record.
func (s *site) fill(record *Record) {
	n := codename.Parse(string(record.Name))
	s.frame = profile.Frame{Kind: n.Kind, Func: n.Func, File: n.File, Line: n.Line, Offset: uint64(s.pc - record.Start)}
	if raw := string(record.Name); raw != n.Func {
		s.frame.Linkage = raw
	}
	s.named = true
}

// size is about how many bytes s takes, with its key.
func (s *site) size() int {
	const fixed = 384
	return fixed + len(s.frame.Func) + len(s.frame.Linkage) + len(s.frame.File)
}

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(n unwind.Site) []profile.Frame {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.sites.Get(n); ok && s.named {
		return []profile.Frame{s.frame}
	}
	return nil
}

// Err says what could not be read, nil for nothing.
func (r *Runtime) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.problem, r.sites.Err())
}

// Functions implements vm.FunctionLister, by the first of the files.
func (r *Runtime) Functions(yield func(start, end mem.Addr, name string) bool) error {
	r.work(time.Now(), settleWait)
	if !r.hasRead() {
		return errors.Join(r.Err(), errors.New("its files were not read"))
	}
	r.files[0].book.Each(yield)
	return r.Err()
}
