// Package core reads ELF core files of Linux: the threads, mappings and memory of a process as they were when the
// kernel, gcore or another program wrote them.
//
// The caller provides the file, which is read in place and never as a whole, and says where the files are that the
// process had mapped. [Core.Image] and [Core.Batches] then stand for a live process and its stop: what walks and
// names cannot tell them apart.
//
// It guarantees that no byte is made up: memory comes from the core, or from a file that is proved to be the one that
// was mapped, where that could not be written to. What is missing is an error of the read, and [Core.Problems]. The
// bytes may come from anybody: work and memory are bounded by the budget, whatever they say.
//
// It is for one goroutine at a time, opens no files but through what it is given, and knows no compression.
//
// Sources: core(5), elf(5), linux/fs/binfmt_elf.c, linux/include/linux/elfcore.h.
package core

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/work"
)

const (
	// maxThreads bounds the threads of a core.
	maxThreads = 1 << 18
	// threadCost is about what a thread takes in memory, bytes.
	threadCost = 1024
	// maxStatus bounds what is read of NT_PRSTATUS and the like, bytes: the longest has 504.
	maxStatus = 1 << 10
)

// Core is one core file.
type Core struct {
	*headers
	Process snapshot.Process
	Maps    *maps.Table

	in      *input
	cache   cache
	files   Files
	budget  *work.Budget
	auxv    auxv
	info    processInfo
	entries []fileEntry // of NT_FILE
	threads []thread    // in the order of the core: the one that died first
	tids    map[int]bool
	dropped bool               // the thread whose NT_PRSTATUS came last
	mapped  map[uint64]*mapped // by inode
	exe     *mapped            // the program, nil if it is not known
	opened  []*module.File     // for their layout
	head    []byte             // memory for the begin of a file
}

// Open reads the headers and notes of a core of size bytes. What is missing of it is in Problems; it fails if it is no
// core, or if it has no registers of any thread. The caller keeps r open, and calls Close.
func Open(r io.ReaderAt, size int64, files Files, b *work.Budget) (*Core, error) {
	in := &input{r, size}
	h, err := readHeaders(in, b)
	if h == nil {
		return nil, err
	}
	c := &Core{headers: h, in: in, cache: cache{in: in}, files: files, budget: b, tids: map[int]bool{}}
	if err != nil {
		c.problem("%v", err)
	}
	if uint64(size) < h.need {
		c.problem("it is cut short: %d of %d bytes are there", size, h.need)
	}
	for _, s := range h.notes {
		if err := eachNote(in, h.order, s, b, c.note); err != nil {
			c.problem("%v", err)
		}
	}
	if len(c.threads) == 0 {
		return nil, fmt.Errorf("it has no registers of any thread: %w", c.reason())
	}
	if c.entries == nil {
		c.entries = c.loaderEntries()
	}
	c.setFiles(c.entries)
	c.entries = nil
	c.describe()
	return c, nil
}

// Close closes the files that were opened for the process.
func (c *Core) Close() error {
	var errs []error
	for _, f := range c.opened {
		if f.Close != nil {
			errs = append(errs, f.Close())
		}
	}
	for _, f := range c.mapped {
		if f.found != nil && f.found != c.files.Exe && f.found.Close != nil {
			errs = append(errs, f.found.Close())
		}
	}
	return errors.Join(errs...)
}

func (c *Core) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// reason is the first problem.
func (c *Core) reason() error {
	if len(c.problems) > 0 {
		return errors.New(c.problems[0])
	}
	return errors.New("no note has them")
}

// note takes what one note says.
func (c *Core) note(x *note) error {
	switch {
	case x.owner == "CORE" && x.typ == ntPRStatus:
		return c.status(x)
	case x.owner == "CORE" && x.typ == ntPRPSInfo:
		b, _ := x.bytes(c.in, maxStatus)
		c.info = decodeProcess(c.arch, b)
	case x.owner == "CORE" && x.typ == ntAuxv:
		b, err := x.bytes(c.in, maxAuxv)
		c.auxv = decodeAuxv(c.arch, b)
		return err
	case x.owner == "CORE" && x.typ == ntFile:
		size := int64(min(x.desc.size, maxFileNote))
		if !c.budget.Hold(4 * size) { // the entries and mappings are about three times as large
			return work.ErrMemory
		}
		b, err := x.bytes(c.in, maxFileNote)
		c.entries = decodeFiles(c.order, c.arch.WordSize, b)
		return err
	case len(c.threads) > 0 && !c.dropped:
		return c.ofThread(&c.threads[len(c.threads)-1], x)
	}
	return nil
}

// status begins a thread.
func (c *Core) status(x *note) error {
	if len(c.threads) >= maxThreads {
		return fmt.Errorf("more than %d threads", maxThreads)
	}
	if !c.budget.Hold(threadCost) {
		return work.ErrMemory
	}
	b, err := x.bytes(c.in, maxStatus)
	t, ok := decodeStatus(c.arch, b)
	c.dropped = !ok || c.tids[t.tid] // notes that follow are its own
	switch {
	case err != nil:
		return fmt.Errorf("read registers: %w", err)
	case !ok:
		c.problemOnce(fmt.Sprintf("registers of %d bytes fit no layout of %s", len(b), c.arch.Name))
	case c.tids[t.tid]:
		c.problemOnce("threads are there more than once; the first counts")
	default:
		c.tids[t.tid] = true
		c.threads = append(c.threads, t)
	}
	return nil
}

// ofThread takes a note of the thread whose NT_PRSTATUS came last.
func (c *Core) ofThread(t *thread, x *note) error {
	var err error
	switch {
	case x.owner == "CORE" && x.typ == ntSigInfo && t.info == nil:
		var b []byte
		b, err = x.bytes(c.in, maxStatus)
		t.info = decodeSignal(c.arch, b)
	case x.owner == "LINUX" && x.typ == c.arch.TLSNote() && x.typ != 0:
		t.tls, err = x.bytes(c.in, maxStatus)
	case x.owner == "LINUX" && x.typ == c.arch.VectorNote() && x.typ != 0:
		var b []byte
		b, err = x.bytes(c.in, regs.VectorHeader)
		t.regs.SetVectors(c.arch.VectorLength(b))
	case x.owner == "LINUX" && x.typ == ntARMPACMask && c.arch == regs.ARM64:
		var b []byte
		b, err = x.bytes(c.in, maxStatus)
		t.pacMask = pacMask(c.order, b)
	}
	return err
}

func (c *Core) problemOnce(text string) {
	if !slices.Contains(c.problems, text) {
		c.problems = append(c.problems, text)
	}
}

// describe fills in what is shown of the process.
func (c *Core) describe() {
	p := &c.Process
	p.PID, p.Comm = c.info.pid, c.info.name
	if p.PID <= 0 {
		p.PID = c.threads[0].tid
	}
	if c.exe != nil {
		p.Exe = c.exe.path
		if c.exe.deleted {
			p.Exe += deletedMark
		}
	} else if name, ok := c.text(c.auxv.value[atExecFn], maxArgText); ok {
		p.Exe = name
	}
	if p.Cmdline = c.commandLine(c.info.args); p.Cmdline == nil && c.info.args != "" {
		p.Cmdline = []string{c.info.args}
	}
}

// Image is the process of the core as walking and naming see it.
func (c *Core) Image() module.Image {
	return module.Image{Memory: c, Mapping: c.open, Path: c.files.Path, Search: c.search}
}

// Problems are what could not be had of the core, and of the files that were looked for until now.
func (c *Core) Problems() []string {
	out := slices.Clone(c.problems)
	for i := range uint64(len(c.mapped)) {
		if f := c.mapped[i+1]; f.err != nil {
			out = append(out, strings.ReplaceAll(f.err.Error(), "\n", "; "))
		}
	}
	return out
}

// LacksFiles reports whether a file that was looked for was not found.
func (c *Core) LacksFiles() bool {
	for _, f := range c.mapped {
		if f.err != nil {
			return true
		}
	}
	return false
}

// Notes say of which files it was not proved that they are those that were mapped, and which were refused.
func (c *Core) Notes() []string {
	var out []string
	for i := range uint64(len(c.mapped)) {
		if f := c.mapped[i+1]; f.found != nil {
			out = append(out, f.notes...)
		}
	}
	return out
}

// Files are the files that the process had mapped, with the build ids that the core proves.
func (c *Core) Files() []snapshot.File {
	out := make([]snapshot.File, 0, len(c.mapped))
	for i := range uint64(len(c.mapped)) {
		f := c.mapped[i+1]
		out = append(out, snapshot.File{Path: f.path, Dev: 1, Inode: f.inode, BuildID: f.id()})
	}
	return out
}
