package sampler

import (
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/unwind"
)

// site is what a physical stack is made of: a place in code without the process it was seen
// in, or a word of our own.
type site struct {
	module      int32 // index in book.modules; below 0: in no module
	interrupted bool  // addr is where a thread was interrupted, not a return address
	signal      bool  // a signal trampoline
	stub        bool  // a runtime's own frame: see unwind.Frame
	kind        siteKind
	addr        uint64 // as linked in module, or as in the process; index of words
	made        int32  // what executes there as its runtime says: 1 and above, index in book.made; 0: native code
}

// madeSite is a unwind.Site with the runtime whose number it is, or the address of code that nobody knows.
type madeSite struct {
	runtime unwind.Runtime
	site    unwind.Site
	pc      mem.Addr // 0 with a runtime
}

// madeCode is code that no object holds, or that a runtime executes.
type madeCode struct {
	names []profile.Frame // that its runtime gave, nil for none
	where *profile.Frame  // what it is called without names, nil if that is its address or its module
}

// siteKind says what a site is.
type siteKind uint8

const (
	codeSite siteKind = iota
	callSite          // the system call words[addr], or a function of the kernel
	wordSite          // words[addr], for what is no frame
)

// place is one module as all processes share it.
type place struct {
	m          *module.Module // the first that was met; its set may be gone, its bytes are not
	start, end mem.Addr       // of its mapping with code, where m is
	offset     int64
}

// identity says whether modules of two processes are one: the same file with the same build
// id. What has no file is one only with a build id (the vDSO).
type identity struct {
	dev, inode uint64
	path       string
	build      string
}

// Bounds of a book. Behind them a stack is replaced by a word that says so.
const (
	maxNodes = 4 << 20
	maxSites = 1 << 18
	maxWords = 1 << 12
)

// book keeps each physical frame and each stack once. It belongs to the counting goroutine.
// What was appended to its slices is never changed, so that a naming goroutine may read a
// slice as it was.
type book struct {
	tree     profile.Tree
	sites    []site
	index    map[site]profile.FrameID
	words    []string
	word     map[string]int
	made     []madeCode // the first is none
	later    []lateName // of made that have no name so far
	renamers map[resolve.Renamer][]renamable
	renames  map[resolve.Renamer]int // how many of its names had changed when they were taken last
	places   []place
	placeOf  map[identity]int32
	full     bool // a stack was left out
	limit    int  // nodes
}

func newBook() *book {
	return &book{index: map[site]profile.FrameID{}, words: []string{profile.UnsureMark, profile.GapMark},
		word: map[string]int{}, placeOf: map[identity]int32{}, limit: maxNodes, made: make([]madeCode, 1),
		renamers: map[resolve.Renamer][]renamable{}, renames: map[resolve.Renamer]int{}}
}

// The first words of each book are marks, outside of the frame that they are of: so it keeps its time. Samples with
// them are counted.
const (
	markUnsure  = iota // [unwind.Frame.Unsure]
	markMissing        // [unwind.Frame.Gap]
	markKinds
)

// mark returns the stack with the mark m below parent.
func (b *book) mark(parent profile.NodeID, m uint64) profile.NodeID {
	f, _ := b.frame(site{module: -1, kind: wordSite, addr: m})
	return b.tree.Child(parent, f)
}

// frame returns the id of a site, made if need be; false if there is no room.
func (b *book) frame(s site) (profile.FrameID, bool) {
	id, ok := b.index[s]
	if ok {
		return id, true
	}
	if len(b.sites) >= maxSites && s.kind == codeSite {
		return 0, false
	}
	id = profile.FrameID(len(b.sites))
	b.sites = append(b.sites, s)
	b.index[s] = id
	return id, true
}

// said returns the stack with one word as its only frame, or below parent.
func (b *book) said(parent profile.NodeID, kind siteKind, text string) profile.NodeID {
	i, ok := b.word[text]
	if !ok {
		if len(b.words) >= maxWords { // names of calls are few; this is never met
			return parent
		}
		i = len(b.words)
		b.words = append(b.words, text)
		b.word[text] = i
	}
	f, _ := b.frame(site{module: -1, kind: kind, addr: uint64(i)})
	return b.tree.Child(parent, f)
}

// The words for what is no frame.
const (
	wordTooMany = "(too many stacks)"
	wordBetween = "(ran between samples)"
	wordEnded   = "(ended unseen)"
	wordNoStack = "(no user stack)"
	wordUnseen  = "(stack not copied)"
)

// stack returns the stack of s, seen in g. Its outermost frame says so if the walk did not reach the root.
func (b *book) stack(s *unwind.Stack, g *program) profile.NodeID {
	if b.tree.Len()+len(s.Frames) > b.limit {
		return b.tooMany()
	}
	node := profile.NodeID(0)
	switch {
	case s.Stop == unwind.NoContext || len(s.Frames) == 0:
		return b.said(0, wordSite, wordNoStack)
	case s.Stop != unwind.Root:
		node = b.said(0, wordSite, "(stack cut: "+s.Stop.String()+")")
	}
	unsure := false
	for i := len(s.Frames) - 1; i >= 0; i-- {
		f := &s.Frames[i]
		if f.Gap {
			node = b.mark(node, markMissing)
		}
		if f.Unsure && !unsure {
			node = b.mark(node, markUnsure)
		}
		unsure = f.Unsure
		at := site{module: g.place(b, f), interrupted: f.Interrupted, signal: f.Signal, stub: f.Stub,
			addr: uint64(f.PC)}
		at.made = g.madeOf(b, f)
		if f.Module != nil {
			at.addr = uint64(f.Module.Vaddr(f.PC))
		} else {
			at.module = -1 - g.number // an address means something in its own process alone
		}
		id, ok := b.frame(at)
		if !ok {
			return b.tooMany()
		}
		node = b.tree.Child(node, id)
	}
	return node
}

func (b *book) tooMany() profile.NodeID {
	b.full = true
	return b.said(0, wordSite, wordTooMany)
}

// place returns the number of the module that f lies in, made if need be.
func (b *book) place(id identity, make func() place) int32 {
	n, ok := b.placeOf[id]
	if !ok {
		n = int32(len(b.places))
		b.places = append(b.places, make())
		b.placeOf[id] = n
	}
	return n
}

// madeOf returns the number of what executes in f as its runtime says, or of the code that nobody names, 0 for native
// code. It is named when it is first seen: the code may be gone later, or the process.
func (g *program) madeOf(b *book, f *unwind.Frame) int32 {
	key := madeSite{runtime: f.Runtime, site: f.Site}
	var where *profile.Frame
	if f.Site == 0 {
		if f.Module != nil && !f.Module.Made() {
			return 0
		}
		key = madeSite{pc: f.PC}
	}
	n, ok := g.made[key]
	if ok || len(b.made) >= maxSites {
		return n
	}
	if in, ok := resolve.Nameless(g.table.Load(), f); ok {
		where = &in
	} else if f.Site == 0 {
		return 0
	}
	n = int32(len(b.made))
	b.made = append(b.made, madeCode{resolve.OfSite(f), where})
	if s, ok := f.Runtime.(resolve.Settler); ok && b.made[n].names == nil {
		b.later = append(b.later, lateName{g, f.Runtime, s, f.Site, n})
	}
	if r, ok := f.Runtime.(resolve.Renamer); ok {
		b.renamers[r] = append(b.renamers[r], renamable{g, f.Runtime, f.Site, n})
	}
	g.made[key] = n
	return n
}

// renamable is a site whose name may become a better one.
type renamable struct {
	of      *program
	runtime unwind.Runtime
	site    unwind.Site
	made    int32
}

// rename takes the names of runtimes that have found better ones since the last time, and reports whether there are
// any.
func (b *book) rename() (any bool) {
	for r, sites := range b.renamers {
		n := r.Renames()
		if n == b.renames[r] {
			continue
		}
		if !any {
			b.made, any = slices.Clone(b.made), true // somebody may read it as it was
		}
		b.renames[r] = n
		for _, s := range sites {
			b.made[s.made].names = resolve.OfSite(&unwind.Frame{Runtime: s.runtime, Site: s.site})
		}
	}
	return any
}

// lateName is a site whose runtime may have its name later.
type lateName struct {
	of      *program
	runtime unwind.Runtime
	settler resolve.Settler
	site    unwind.Site
	made    int32
}

// nameLate asks again for names that runtimes did not have. It waits for them, not for long. Names of sites are read
// by Take alone, which waits for this.
func (b *book) nameLate() {
	var left []lateName
	settled := map[resolve.Settler]bool{}
	for _, l := range b.later {
		if !settled[l.settler] {
			settled[l.settler] = true
			l.settler.Settle()
		}
		m := &b.made[l.made]
		if m.names = resolve.OfSite(&unwind.Frame{Runtime: l.runtime, Site: l.site}); m.names == nil {
			left = append(left, l)
		}
	}
	b.later = left
}
