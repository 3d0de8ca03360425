package codelog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// Format is one form of the files that runtimes write about their code.
type Format interface {
	String() string // in messages: "perf map"
	// Locate says where the process has such a file, and how it is opened; open is nil if nothing shows one.
	Locate(p *module.Live, table *maps.Table) (path string, open func() (module.Log, error))
	// Parser returns what reads one such file of p from its beginning.
	Parser(p *module.Live) Parser
}

// Parser reads one file, whose bytes it does not trust. It is used by one goroutine at a time.
type Parser interface {
	// Read gives b what is whole in the bytes [from, to) of r, and returns where the rest begins: it is read again when
	// more is there. An error says why nothing behind that can be read, ever.
	Read(r io.ReaderAt, from, to int64, b *Book) (next int64, err error)
}

// LineReader is a Parser of files that have lines.
type LineReader interface {
	// Line returns the source file and line of the code at a, in a Record with a Detail.
	Line(r io.ReaderAt, of *Record, a mem.Addr) (file string, line int, ok bool)
}

// lookEvery is how often it is looked whether another file has come to a path.
const lookEvery = time.Second

// slack is how much older than its process a file may seem: the process's start is known to a tick of the kernel, the
// time of a file to another.
const slack = 20 * time.Millisecond

// file is one file of a process as far as it was read. It belongs to whoever works, but for book, which any may ask.
type file struct {
	format Format
	book   Book

	path   string
	log    module.Log // nil until there is one
	is     module.LogStat
	parser Parser
	next   int64     // what was read so far
	looked time.Time // when the path was opened last
	broken error     // why nothing more is read of log
	err    error     // what a person should know
}

// grown reports whether there is more to read, without opening anything.
func (f *file) grown() bool {
	if f.log == nil || f.broken != nil {
		return false
	}
	st, err := f.log.Stat()
	return err == nil && (st.Size != f.is.Size || f.rewritten(st))
}

// rewritten reports whether a file with that Stat has other contents than what was read of it: who appends makes it
// longer.
func (f *file) rewritten(st module.LogStat) bool {
	return st.Size < f.next || st.Size == f.is.Size && f.next > 0 && !st.Changed.Equal(f.is.Changed)
}

// follow reads on, and begins again where another file has come to the path or the file has become shorter.
func (f *file) follow(p *module.Live, table *maps.Table) {
	if now := time.Now(); f.log == nil || now.Sub(f.looked) >= lookEvery {
		f.looked = now
		f.look(p, table)
	}
	if f.log == nil || f.broken != nil {
		return
	}
	st, err := f.log.Stat()
	if err != nil {
		f.err = f.wrong(err)
		return
	}
	if f.rewritten(st) {
		f.begin(p)
	}
	f.is = st
	err = module.Guard(f.path, func() (err error) {
		f.next, err = f.parser.Read(f.log, f.next, st.Size, &f.book)
		return err
	})
	f.err = nil
	if err != nil {
		// What it names may have changed since.
		f.broken, f.err = err, f.wrong(err)
		f.book.reset()
	}
}

// wrong words an error of the file for a person.
func (f *file) wrong(err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err
	}
	return fmt.Errorf("%v %q: %w", f.format, f.path, err)
}

// look opens what is at the path now. The file known so far stays if it is the same, or if nothing is there.
func (f *file) look(p *module.Live, table *maps.Table) {
	path, open := f.format.Locate(p, table)
	if open == nil {
		return
	}
	log, err := open()
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	f.path = path
	var st module.LogStat
	if err == nil {
		if st, err = log.Stat(); err == nil && st.Changed.Before(p.Began.Add(-slack)) {
			err = errors.New("is older than the process: an earlier one with the same number wrote it")
		}
	}
	switch {
	case err != nil:
		if log != nil {
			log.Close()
		}
		if f.log == nil {
			f.err = f.wrong(err)
		}
	case f.log != nil && st.Dev == f.is.Dev && st.Inode == f.is.Inode:
		log.Close()
	default:
		f.close()
		f.log, f.is = log, st
		f.begin(p)
	}
}

// begin forgets what was read.
func (f *file) begin(p *module.Live) {
	f.parser, f.next, f.broken, f.err = f.format.Parser(p), 0, nil, nil
	f.book.reset()
}

func (f *file) close() {
	if f.log != nil {
		f.log.Close()
		f.log = nil
	}
}

// problem is what a person should know of the file, nil for nothing.
func (f *file) problem() error {
	if f.err != nil {
		return f.err
	}
	if s := f.book.Summary(); s != "" {
		return fmt.Errorf("%v %q: %s", f.format, f.path, s)
	}
	return nil
}
