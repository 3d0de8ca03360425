package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fpstack/fpstack/mem"
)

// Copier copies what a runtime needs of a thread besides its stack, while the thread is stopped: the words that
// lead to the caller of a frame, or that say what executes in it.
//
// Copy gets the thread with Arch, Registers (nil if it sleeps and was not stopped: then Syscall has SP and PC), TP
// and Stack, and reads by f alone. The target waits for it: it allocates nothing once warm, blocks on nothing and
// opens nothing. It may be called from any goroutine, for several threads at the same time, and keeps neither t nor f.
//
// Where it implements [fmt.Stringer] that is its name in messages.
type Copier interface {
	Copy(t *Thread, f *Fetcher)
}

// Last is a Copier of what a stack can be shown without, as who has the lock that a thread waits for: where many
// threads are stopped at once it is called when the others were called for all of them, in the time that is left.
type Last struct{ Copier }

// String implements [fmt.Stringer].
func (l Last) String() string { return copierName(l.Copier) }

// Rounds are those of copiers that are called first, and the Last.
func Rounds(copiers []Copier) (first, last []Copier) {
	for _, c := range copiers {
		if _, is := c.(Last); is {
			last = append(last, c)
		} else {
			first = append(first, c)
		}
	}
	return first, last
}

// PieceReader reads the memory of a stopped process for a [Fetcher].
type PieceReader interface {
	// ReadPieces fills each piece from its Addr on, as far as memory is mapped there, and sets its Got. Where all is
	// mapped that is one system call. It keeps no piece. It fails if nothing more can be read in this stop.
	ReadPieces(pieces []Piece) error
}

// Piece is memory to read: len(Data) bytes at Addr, of which Got were had.
type Piece struct {
	Addr mem.Addr
	Data []byte
	Got  int
}

// Want is memory that a Copier asks for.
type Want struct {
	Addr mem.Addr
	Len  int // bytes
}

// Budget bounds what one Copier gets of one thread. A stop is not made longer than that by it.
type Budget struct {
	Calls, Ranges, Bytes int
	Time                 time.Duration // from its first instruction on
}

// CopyBudget is the Budget of a Fetcher that has none of its own: enough for a chain of 250 frames of which each is
// read by its own call, at about a microsecond a call. The time is for a CPU that is taken from us meanwhile.
var CopyBudget = Budget{Calls: 256, Ranges: 512, Bytes: 512 << 10, Time: 10 * time.Millisecond}

// ErrSpent says that a Copier has used up its Budget, ErrLate that it was the time: a second try may get more.
var (
	ErrSpent = errors.New("budget is spent")
	ErrLate  = fmt.Errorf("%w: the time is over", ErrSpent)
)

// Shortfall says that a Copier did not get all that it asked for.
type Shortfall struct {
	Copier string
	Why    error
}

func (s Shortfall) String() string {
	return fmt.Sprintf("%s: memory was not copied while the thread was stopped: %v", s.Copier, s.Why)
}

// Fetcher copies what Copiers ask for of one thread at a time, into memory that is used again for the next thread
// unless [Fetcher.Keep] is called. The zero Fetcher is ready. It is for one goroutine at a time.
type Fetcher struct {
	Budget Budget // of each Copier and thread; the zero Budget is CopyBudget
	// Used is how much time has passed, from whenever: the CPU time of the thread that runs the Copiers, so that what
	// delays it on a busy machine takes nothing off their budget. nil: by the clock.
	Used func() time.Duration
	// Still says that all threads that Run is called for stay stopped until it was called for the last: what was kept
	// of one of them is not read again for another. They share those bytes.
	Still bool

	memory     PieceReader
	thread     *Thread
	kept       map[mem.Addr]mem.Range // of earlier threads, if Still, by their Start
	ranges     []mem.Range            // what was copied of thread
	shortfalls []Shortfall
	pieces     []Piece
	buf, rest  []byte // rest is the end of buf that is not in use
	left       Budget // of the Copier that is called
	began      moment // of it
	asked      moment // the last time that Used was called
	err        error  // why the Copier gets no more, nil if it does
	broken     error  // why nobody does
}

// Run lets copiers copy what they need of t, by memory, and puts it into t.Copied and t.Shortfalls. Both belong to f,
// and are valid until the next Run. A panic in a Copier costs what that one asked for, and is a Shortfall.
func (f *Fetcher) Run(copiers []Copier, t *Thread, memory PieceReader) {
	f.ranges, f.shortfalls = f.ranges[:0], f.shortfalls[:0]
	f.copy(copiers, t, memory)
}

// RunMore is Run for a thread that something was copied of already, which it adds to.
func (f *Fetcher) RunMore(copiers []Copier, t *Thread, memory PieceReader) {
	f.ranges, f.shortfalls = append(f.ranges[:0], t.Copied...), append(f.shortfalls[:0], t.Shortfalls...)
	f.copy(copiers, t, memory)
}

func (f *Fetcher) copy(copiers []Copier, t *Thread, memory PieceReader) {
	f.memory, f.thread, f.broken, f.rest = memory, t, nil, f.buf
	for _, c := range copiers {
		f.run(c)
	}
	t.Copied, t.Shortfalls = slices.Clip(f.ranges), f.shortfalls
	f.memory, f.thread = nil, nil
}

// Use gives f memory that it copies to first, which whoever gives it has touched: no page fault lengthens a stop.
func (f *Fetcher) Use(b []byte) { f.buf = b }

// Ranges are made for several threads at once: manyRanges, if there is room for fewer than fewRanges.
const (
	fewRanges  = 32
	manyRanges = 1 << 10
)

// maxKept bounds the ranges that threads may share.
const maxKept = 1 << 14

// Keep gives what the last Run copied to the Thread for good: the next Run uses other memory.
func (f *Fetcher) Keep() {
	if f.Still && f.kept == nil {
		f.kept = map[mem.Addr]mem.Range{}
	}
	for _, r := range f.ranges {
		if f.Still && len(f.kept) < maxKept && len(r.Data) > len(f.kept[r.Start].Data) {
			f.kept[r.Start] = r
		}
	}
	f.buf = f.rest
	f.ranges, f.shortfalls = f.ranges[len(f.ranges):], nil
	if cap(f.ranges) < fewRanges {
		f.ranges = make([]mem.Range, 0, manyRanges)
	}
}

func (f *Fetcher) run(c Copier) {
	f.left, f.err = f.Budget, f.broken
	f.begin()
	if f.left == (Budget{}) {
		f.left = CopyBudget
	}
	had := len(f.ranges)
	defer func() {
		if p := recover(); p != nil {
			f.ranges = f.ranges[:had]
			f.err = fmt.Errorf("a fault of fpstack, please report it: %v", p)
		}
		if f.err != nil {
			f.shortfalls = append(f.shortfalls, Shortfall{copierName(c), f.err})
		}
	}()
	c.Copy(f.thread, f)
}

func copierName(c any) string {
	if s, ok := c.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", c)
}

// Fetch copies what is wanted, by one vectored read, and reports whether all of it was had. What the stack or an
// earlier range holds is not read again. What was had of a range that is mapped in part is kept.
//
// When the budget is spent it copies nothing any more, and the Thread says so.
func (f *Fetcher) Fetch(wants ...Want) bool {
	f.pieces = f.pieces[:0]
	all := true
	for _, w := range wants {
		switch {
		case w.Len <= 0 || w.Addr+mem.Addr(w.Len)-1 < w.Addr: // nothing, or around the end of the address space
			all = all && w.Len == 0
		case f.holds(w), f.shares(w):
		case !f.charge(w.Len):
			all = false
		default:
			f.pieces = append(f.pieces, Piece{Addr: w.Addr, Data: f.room(w.Len)})
		}
	}
	return f.read() && all
}

// Err is why the Copier gets nothing more, nil if it does.
func (f *Fetcher) Err() error { return f.err }

// Late reports whether the Copier is to end, as it gets nothing more or has used up its time: for loops over what was
// copied already. The Thread says then that something is missing.
func (f *Fetcher) Late() bool {
	if f.err == nil && f.late() {
		f.err = ErrLate
	}
	return f.err != nil
}

// Room is how many bytes the budget has left.
func (f *Fetcher) Room() int { return f.left.Bytes }

// FetchUpTo is Fetch of one range that copies the begin of it where the budget has no room for all: the rest is a
// Shortfall, and nothing more is copied.
func (f *Fetcher) FetchUpTo(w Want) bool {
	room := f.left.Bytes
	if w.Len <= room || f.err != nil {
		return f.Fetch(w)
	}
	f.Fetch(Want{Addr: w.Addr, Len: room})
	if f.err == nil {
		f.err = ErrSpent
	}
	return false
}

// charge takes n bytes from the budget.
func (f *Fetcher) charge(n int) bool {
	switch {
	case f.err != nil:
		return false
	case f.left.Ranges < 1, f.left.Bytes < n, len(f.pieces) == 0 && f.left.Calls < 1:
		f.err = ErrSpent
		return false
	case len(f.pieces) == 0 && f.late():
		f.err = ErrLate
		return false
	}
	if len(f.pieces) == 0 {
		f.left.Calls--
	}
	f.left.Ranges--
	f.left.Bytes -= n
	return true
}

// read reads the pieces and keeps what was had.
func (f *Fetcher) read() bool {
	if len(f.pieces) == 0 {
		return true
	}
	if err := f.memory.ReadPieces(f.pieces); err != nil {
		f.err, f.broken = err, err
		return false
	}
	all := true
	for i := range f.pieces {
		p := &f.pieces[i]
		all = all && p.Got == len(p.Data)
		if p.Got > 0 {
			f.ranges = append(f.ranges, mem.Range{Start: p.Addr, Data: p.Data[:p.Got:p.Got]})
		}
	}
	return all
}

// firstRoom is what a Fetcher has room for at first, bytes.
const firstRoom = 4 << 10

// room returns n bytes that nothing is copied to yet.
func (f *Fetcher) room(n int) []byte {
	if n > len(f.rest) {
		f.buf = make([]byte, max(n, 2*len(f.buf), firstRoom))
		f.rest = f.buf
	}
	b := f.rest[:n]
	f.rest = f.rest[n:]
	return b
}

// holds reports whether w was copied already.
func (f *Fetcher) holds(w Want) bool {
	_, ok := f.Bytes(w.Addr, w.Len)
	return ok
}

// shares reports whether w was kept of an earlier thread, and takes it from there.
func (f *Fetcher) shares(w Want) bool {
	r, ok := f.kept[w.Addr]
	if !ok || len(r.Data) < w.Len || f.err != nil || f.left.Ranges < 1 {
		return false
	}
	f.left.Ranges--
	f.ranges = append(f.ranges, mem.Range{Start: w.Addr, Data: r.Data[:w.Len:w.Len]})
	return true
}

// Bytes returns the n bytes at addr without copying them, if the stack or one range that was copied holds them all.
// They are not to be changed.
func (f *Fetcher) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	if b, ok := f.thread.Stack.Bytes(addr, n); ok {
		return b, true
	}
	for i := len(f.ranges) - 1; i >= 0; i-- { // who follows a chain asks for what was copied last
		if b, ok := f.ranges[i].Bytes(addr, n); ok {
			return b, true
		}
	}
	return nil, false
}

// Word returns the word of the thread's architecture at addr, if it was copied.
func (f *Fetcher) Word(addr mem.Addr) (uint64, bool) {
	a := f.thread.Arch
	if a == nil {
		return 0, false
	}
	b, ok := f.Bytes(addr, a.WordSize)
	if !ok {
		return 0, false
	}
	if a.WordSize == 4 {
		return uint64(a.Order.Uint32(b)), true
	}
	return a.Order.Uint64(b), true
}

// moment is when a Copier began.
type moment struct {
	used  time.Duration // by Used
	clock time.Time
}

// begin notes the moment. What [Fetcher.Used] said a moment ago is used again: to ask the kernel for CPU time takes as
// long as a short read.
func (f *Fetcher) begin() {
	const soon = 100 * time.Microsecond
	now := time.Now()
	if f.Used != nil && now.Sub(f.asked.clock) > soon {
		f.asked = moment{f.Used(), now}
	}
	f.began = moment{f.asked.used, now}
}

// late reports whether the Copier has used up its time. By the clock it has used at least as much.
func (f *Fetcher) late() bool {
	if time.Since(f.began.clock) <= f.left.Time {
		return false
	}
	return f.Used == nil || f.Used()-f.began.used > f.left.Time
}
