package codelog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// disk is one file that a process writes, and the process. Another inode is another file.
type disk struct {
	mu      sync.Mutex
	text    string
	inode   uint64
	changed time.Time
	open    error
	block   chan struct{} // a read waits until it is closed
	opened  int           // and not closed
	reads   int
	fails   int // which of them fails, 0 for none
	began   time.Time
}

// write makes the file's text.
func (d *disk) write(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.text, d.changed = text, time.Now()
}

func (d *disk) live() (*module.Live, error) {
	return &module.Live{PID: 7, Began: d.began,
		Monotonic: func(t time.Time) time.Duration { return t.Sub(d.began) }}, nil
}

// fileOf is a module.Log.
type fileOf struct {
	d     *disk
	inode uint64
}

func (f fileOf) ReadAt(b []byte, at int64) (int, error) {
	f.d.mu.Lock()
	block, text := f.d.block, f.d.text
	f.d.reads++
	fails := f.d.reads == f.d.fails
	f.d.mu.Unlock()
	if fails {
		return 0, errors.New("this read fails")
	}
	if block != nil {
		<-block
	}
	return strings.NewReader(text).ReadAt(b, at)
}

func (f fileOf) Stat() (module.LogStat, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return module.LogStat{Size: int64(len(f.d.text)), Inode: f.inode, Changed: f.d.changed}, nil
}

func (f fileOf) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.opened--
	return nil
}

// form is a Format whose lines are: start, length and time in decimal, a name, and perhaps the Digest. "stop" is an
// error.
type form struct{ d *disk }

func (form) String() string { return "test map" }

func (f form) Locate(*module.Live, *maps.Table) (string, func() (module.Log, error)) {
	return "/tmp/map", func() (module.Log, error) {
		f.d.mu.Lock()
		defer f.d.mu.Unlock()
		if f.d.open != nil {
			return nil, f.d.open
		}
		f.d.opened++
		return fileOf{f.d, f.d.inode}, nil
	}
}

func (form) Parser(*module.Live) Parser { return formParser{} }

type formParser struct{}

func (formParser) Read(r io.ReaderAt, from, to int64, b *Book) (int64, error) {
	data := make([]byte, to-from)
	n, err := r.ReadAt(data, from)
	if err != nil && err != io.EOF {
		return from, err
	}
	for data = data[:n]; ; {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return from, nil
		}
		if string(data[:end]) == "stop" {
			return from, errors.New("stopped")
		}
		var start, length, at int64
		var name string
		var code uint64
		if n, _ := fmt.Sscan(string(data[:end]), &start, &length, &at, &name, &code); n >= 4 {
			b.Add(Record{Start: mem.Addr(start), End: mem.Addr(start + length), Time: time.Duration(at),
				Name: []byte(name), Code: code})
		} else {
			b.Malformed()
		}
		from, data = from+int64(end)+1, data[end+1:]
	}
}

// process is a Runtime of a process with code of no file at [4096, 8192) and a file that names it.
type process struct {
	*Runtime
	disk *disk
	t    *testing.T
}

func newProcess(t *testing.T, text string) *process {
	d := &disk{began: time.Now().Add(-time.Hour), text: text, changed: time.Now(), inode: 1}
	r := New("test", module.Image{Live: d.live}, form{d})
	table := maps.NewTable([]maps.Mapping{{Start: 4096, End: 8192, Perm: maps.Read | maps.Exec},
		{Start: 8192, End: 12288, Perm: maps.Read}, {Start: 12288, End: 16384, Perm: maps.Exec, Path: "[vdso]"}})
	if present, err := r.Scan(module.NewSet(table, module.Image{})); !present || err != nil {
		t.Fatalf("present %v, %v", present, err)
	}
	return &process{r, d, t}
}

// see gives the frames of a stack with those return addresses, taken then.
func (p *process) see(at time.Time, pcs ...mem.Addr) []unwind.Frame {
	s := unwind.Stack{}
	for _, pc := range pcs {
		s.Frames = append(s.Frames, unwind.Frame{PC: pc})
	}
	p.Identify(&snapshot.Thread{Time: at}, &s, nil)
	return s.Frames
}

// name is what a frame is called, "-" for nothing.
func (p *process) name(f unwind.Frame) string {
	if f.Site == 0 {
		return "-"
	}
	frames := p.Frames(f.Site)
	if len(frames) == 0 {
		return "-"
	}
	return frames[0].Func
}

// want checks the name of the function that is at pc now.
func (p *process) want(what string, pc mem.Addr, want string) unwind.Frame {
	p.t.Helper()
	p.mu.Lock()
	p.ended = time.Time{} // no rest
	p.mu.Unlock()
	f := p.see(time.Now(), pc)[0]
	if got := p.name(f); got != want {
		p.t.Errorf("%s: %d is %q, want %q (%v)", what, pc, got, want, p.Err())
	}
	return f
}

// TestFollow: a file that grows, whose tail is being written, that is cut, and that another takes the place of.
func TestFollow(t *testing.T) {
	p := newProcess(t, "4096 16 0 first\n4112 16 0 sec")
	p.want("at first", 4100, "first")
	p.want("its line is not whole", 4120, "-")
	p.disk.write("4096 16 0 first\n4112 16 0 second\n4096 8 0 over\n")
	f := p.want("it has grown", 4120, "second")
	p.want("covered", 4100, "over")
	p.want("covered in part", 4110, "first")
	if reads := p.disk.reads; reads != 2 {
		t.Errorf("%d reads, want one for each time that it has grown", reads)
	}
	if got := p.Frames(f.Site)[0]; got.Offset != 8 || got.Kind != profile.JIT {
		t.Errorf("frame %+v, want offset 8", got)
	}
	if again := p.want("again", 4120, "second"); again.Site != f.Site {
		t.Errorf("the same place has sites %d and %d", f.Site, again.Site)
	}
	p.disk.write("4096 8 0 new\n")
	p.want("it was cut", 4100, "new")
	p.want("it was cut", 4120, "-")
	if got := p.name(f); got != "second" {
		t.Errorf("a site that has a name is now %q", got)
	}
	p.disk.inode, p.files[0].looked = 2, time.Time{}
	p.disk.write("4096 8 0 another\n4104 8 0 more\n")
	p.want("another file", 4100, "another")
	if r, ok := p.Region(4101); !ok || r.Start != 4096 || r.End != 4104 {
		t.Errorf("region %+v, %v", r, ok)
	}
	if p.disk.opened != 1 {
		t.Errorf("%d files are open", p.disk.opened)
	}
	p.Close()
	if p.disk.opened != 0 || p.name(f) != "second" {
		t.Errorf("closed: %d files are open, a site is %q", p.disk.opened, p.name(f))
	}
}

// TestOtherCode: what lies in no code of no file has no name, whatever the file says.
func TestOtherCode(t *testing.T) {
	p := newProcess(t, "1 65536 0 all\n")
	p.want("made code", 5000, "all")
	for _, pc := range []mem.Addr{100, 9000, 13000, 40000} {
		p.want("other code", pc, "-")
		if r, ok := p.Region(pc); ok {
			t.Errorf("%d: region %+v", pc, r)
		}
	}
	s := unwind.Stack{Frames: []unwind.Frame{{PC: 5000, Site: 9}, {PC: 5000, Signal: true}}}
	p.Identify(&snapshot.Thread{}, &s, nil)
	if s.Frames[0].Site != 9 || s.Frames[0].Runtime != nil || s.Frames[1].Site != 0 {
		t.Errorf("frames of others: %+v", s.Frames)
	}
}

// TestTimes: a sample finds what was at its address at its time, also when it is named later.
func TestTimes(t *testing.T) {
	p := newProcess(t, "")
	now := time.Now()
	at := func(d time.Duration) time.Time { return now.Add(d) }
	stamp := func(d time.Duration) int64 { return int64(at(d).Sub(p.disk.began)) }
	before, after := p.see(at(-2*time.Second), 4100)[0], p.see(at(-time.Second), 4100)[0]
	if before.Site == 0 || p.name(before) != "-" {
		t.Fatalf("site %d of code without a name so far is %q", before.Site, p.name(before))
	}
	p.disk.write(fmt.Sprintf("4096 16 %d old\n4096 16 %d new\n", stamp(-time.Minute), stamp(-1500*time.Millisecond)))
	p.Settle()
	if a, b := p.name(before), p.name(after); a != "old" || b != "new" {
		t.Errorf("named later: %q and %q, want what was there when it was seen", a, b)
	}
	for ago, want := range map[time.Duration]string{2 * time.Minute: "-", 2 * time.Second: "old", time.Second: "new"} {
		if got := p.name(p.see(at(-ago), 4100)[0]); got != want {
			t.Errorf("%v ago: %q, want %q", ago, got, want)
		}
	}
}

// TestLateFile: names come also when the file does, and when the process has ended.
func TestLateFile(t *testing.T) {
	p := newProcess(t, "")
	p.disk.open = io.ErrNoProgress
	p.want("it cannot be opened", 4100, "-")
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), `test map "/tmp/map": `+io.ErrNoProgress.Error()) {
		t.Errorf("reason %v", err)
	}
	p.disk.open, p.files[0].looked = nil, time.Time{}
	p.Scan(p.set) // a second later
	f := p.want("it is there", 4100, "-")
	p.disk.write("4096 16 0 last\n")
	p.Close()
	if got := p.name(f); got != "last" {
		t.Errorf("when the process has ended: %q (%v)", got, p.Err())
	}
}

// TestStale: a file that is older than the process is not read.
func TestStale(t *testing.T) {
	p := newProcess(t, "4096 16 0 old\n")
	p.disk.changed = p.disk.began.Add(-time.Second)
	p.want("an old file", 4100, "-")
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "older than the process") || p.disk.opened != 0 {
		t.Errorf("reason %v, %d files open", err, p.disk.opened)
	}
}

// TestBroken: a file that cannot be read on names nothing: what it named may have changed.
func TestBroken(t *testing.T) {
	p := newProcess(t, "4096 16 0 first\nbad\n")
	p.want("at first", 4100, "first")
	if err := p.Err(); err == nil || !strings.HasSuffix(err.Error(), "1 not understood") {
		t.Errorf("reason %v", err)
	}
	p.disk.write("4096 16 0 first\nbad\nstop\n")
	p.want("broken", 4100, "-")
	if err := p.Err(); err == nil || !strings.HasSuffix(err.Error(), "stopped") {
		t.Errorf("reason %v", err)
	}
}

// TestHeldUp: a file that does not answer holds nobody up for long, and nobody a second time; its names come when it
// answers.
func TestHeldUp(t *testing.T) {
	p := newProcess(t, "4096 16 0 slow\n")
	p.disk.block = make(chan struct{})
	begun := time.Now()
	p.see(time.Now(), 4100) // not known yet whether there is a file
	for range 1000 {
		p.see(time.Now(), 4100)
		p.Settle()
	}
	// Waiting for each would be 2,020 s; once each is 20 ms and 2 s at most.
	if took := time.Since(begun); took > settleWait+18*time.Second {
		t.Errorf("it took %v", took)
	}
	close(p.disk.block)
	p.mu.Lock()
	working := p.working
	p.mu.Unlock()
	if working != nil {
		<-working
	}
	p.want("it answers", 4100, "slow")
}

// TestFunctions lists what there is now.
func TestFunctions(t *testing.T) {
	p := newProcess(t, "4096 16 0 a\n4112 16 0 b\n4096 16 0 c\n")
	var got []string
	err := p.Functions(func(start, end mem.Addr, name string) bool {
		got = append(got, fmt.Sprintf("%d %d %s", start, end, name))
		return true
	})
	if fmt.Sprint(got) != "[4096 4112 c 4112 4128 b]" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestBounds: a Book that is full forgets what is covered, and names nothing wrong when that does not help.
func TestBounds(t *testing.T) {
	b := Book{limit: 100}
	for i := range 1000 {
		b.Add(Record{Start: 1000, End: 1010, Name: fmt.Appendf(nil, "f%d", i)})
	}
	if r, _, ok := b.Find(1005, 0); !ok || string(r.Name) != "f999" || b.Summary() != "" || len(b.names) > 1000 {
		t.Errorf("one address again and again: %q, %v, %q, %d bytes of names", r.Name, ok, b.Summary(), len(b.names))
	}
	for i := range 1000 {
		b.Add(Record{Start: mem.Addr(2000 + i), End: mem.Addr(2001 + i), Name: []byte("x")})
	}
	b.Add(Record{Start: 1000, End: 1010, Name: []byte("new")})
	if r, _, ok := b.Find(1005, 0); ok || !strings.HasSuffix(b.Summary(), "without room") {
		t.Errorf("full: %q, %v, %q; want no name that is old", r.Name, ok, b.Summary())
	}
	left := work.New(0, 1000)
	b = Book{budget: left}
	for i := range 100 {
		b.Add(Record{Start: mem.Addr(i), End: mem.Addr(i + 1), Name: []byte("x")})
	}
	if len(b.records) > 20 || len(b.records) == 0 || b.spans.count > 20 {
		t.Errorf("%d records in %d spans within 1000 bytes", len(b.records), b.spans.count)
	}
	for i := range 100 { // what they cover makes room
		b.Add(Record{Start: 1, End: 100, Name: fmt.Appendf(nil, "f%d", i)})
	}
	if r, _, ok := b.Find(50, 0); !ok || string(r.Name) != "f99" {
		t.Errorf("the newest of 100 is %q, %v, want f99", r.Name, ok)
	}
	b.reset()
	if _, n := left.Left(); n != 1000 {
		t.Errorf("%d bytes are left of 1000 when all is forgotten", n)
	}
}

// TestWrittenAgain: a file that is cut and written again, by a hostile process as often as it likes, takes the room of
// one.
func TestWrittenAgain(t *testing.T) {
	p := newProcess(t, "")
	run := work.New(work.Steps, 1<<20)
	p.files[0].book.budget = run
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "%d 1 0 function_%d\n", 4096+i, i)
	}
	for n := range 50 {
		for _, name := range []string{"f", "g"} { // of the same length
			p.disk.write(fmt.Sprintf("%s4096 16 0 %s%02d\n", text.String(), name, n))
			p.work(time.Now(), settleWait)
			p.want("written again", 4100, fmt.Sprintf("%s%02d", name, n))
		}
	}
	p.disk.write("")
	p.work(time.Now(), settleWait)
	p.want("cut", 4100, "-")
	if _, left := run.Left(); left != 1<<20 {
		t.Errorf("%d bytes are held of a file that is empty", 1<<20-left)
	}
}

// BenchmarkAdd adds records at addresses that are spread and covered again, as a large program's.
func BenchmarkAdd(b *testing.B) {
	var book Book
	name := []byte("JS:*function /srv/app/lib/module.js:123:45")
	for i := range b.N {
		at := mem.Addr(0x7f0000000000 + uint64(i)*2654435761%(1<<30))
		book.Add(Record{Start: at, End: at + 200, Name: name})
	}
}

// BenchmarkFind looks addresses up among 100,000 functions.
func BenchmarkFind(b *testing.B) {
	var book Book
	for i := range 100000 {
		book.Add(Record{Start: mem.Addr(i * 256), End: mem.Addr(i*256 + 200), Name: []byte("function")})
	}
	for i := range b.N {
		if _, _, ok := book.Find(mem.Addr(uint64(i)*2654435761%100000*256+100), 0); !ok {
			b.Fatal("not found")
		}
	}
}
