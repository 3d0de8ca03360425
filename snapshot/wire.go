package snapshot

import (
	"errors"
	"fmt"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// The wire types are the JSON of a recorded file. A field may be added; one that is there
// keeps its name and meaning as long as the version stays.

type wireHead struct {
	PID      int           `json:"pid"`
	Comm     text          `json:"comm"`
	Cmdline  []text        `json:"cmdline"`
	Exe      text          `json:"exe"`
	Role     text          `json:"role,omitempty"`
	Host     string        `json:"host"` // GOARCH, "" for unknown
	Time     time.Time     `json:"time"`
	Stopped  time.Duration `json:"stopped"` // ns
	Rolling  bool          `json:"rolling"`
	NoStop   bool          `json:"noStop,omitempty"`
	FDs      map[int]text  `json:"fds"`
	Exited   int           `json:"exited"`
	Late     int           `json:"late,omitempty"`
	Left     []int         `json:"left,omitempty"`
	Batches  int           `json:"batches,omitempty"`
	Problems []text        `json:"problems"`
	HasMaps  bool          `json:"maps"`
	Changed  []wireSpan    `json:"changed,omitempty"`
	Clock    time.Duration `json:"clock,omitempty"` // ns
	Core     bool          `json:"core,omitempty"`
}

type wireMapping struct {
	Start   mem.Addr `json:"start"`
	End     mem.Addr `json:"end"`
	Perm    uint8    `json:"perm"`
	Offset  int64    `json:"offset"`
	Dev     uint64   `json:"dev"`
	Inode   uint64   `json:"inode"`
	Path    text     `json:"path"`
	Deleted bool     `json:"deleted"`
}

type wireFile struct {
	Path    text   `json:"path"`
	Dev     uint64 `json:"dev"`
	Inode   uint64 `json:"inode"`
	BuildID text   `json:"buildID,omitempty"`
	Sum     text   `json:"sum,omitempty"`
	Err     text   `json:"err,omitempty"`
	NotELF  bool   `json:"notELF,omitempty"`
}

// wireContent is followed by Size raw bytes.
type wireContent struct {
	Path text   `json:"path"`
	Size uint64 `json:"size"`
}

type wireSpan struct {
	Start mem.Addr `json:"start"`
	End   mem.Addr `json:"end"`
}

// wireRange is followed by Size raw bytes.
type wireRange struct {
	Start mem.Addr `json:"start"`
	Size  uint64   `json:"size"`
}

// wireThread is followed by the bytes of its stack, and those by the ranges that were copied of it, each with its
// bytes.
type wireThread struct {
	TID          int             `json:"tid"`
	Inner        int             `json:"inner,omitempty"`
	Comm         text            `json:"comm"`
	State        uint8           `json:"state"`
	Arch         string          `json:"arch"` // GOARCH, "" for unknown
	Registers    *wireRegisters  `json:"registers"`
	PACMask      uint64          `json:"pacMask"`
	Stack        wireRange       `json:"stack"`
	StackErr     *text           `json:"stackErr"`
	Syscall      *wireSyscall    `json:"syscall"`
	Wchan        text            `json:"wchan"`
	KernelStack  []text          `json:"kernelStack"`
	NotStopped   text            `json:"notStopped"`
	Stopped      time.Duration   `json:"stopped"`
	KernelWorker bool            `json:"kernelWorker"`
	TP           *mem.Addr       `json:"tp,omitempty"`
	Shortfalls   []wireShortfall `json:"shortfalls,omitempty"`
	Time         time.Time       `json:"time,omitzero"`
	Counters     *wireCounters   `json:"counters,omitempty"`
	Signal       *wireSignal     `json:"signal,omitempty"`
}

type wireCounters struct {
	CPU      time.Duration `json:"cpu"`    // ns
	Waited   time.Duration `json:"waited"` // ns
	Switches uint64        `json:"switches"`
}

type wireSignal struct {
	Number  int      `json:"number"`
	Code    int      `json:"code"`
	HasCode bool     `json:"hasCode"`
	Addr    mem.Addr `json:"addr"`
	HasAddr bool     `json:"hasAddr"`
	Sender  int      `json:"sender"`
}

type wireShortfall struct {
	Copier text `json:"copier"`
	Why    text `json:"why"`
}

// wireRegisters is the bytes of NT_PRSTATUS as the kernel would give them, and a bit for
// each register (by regs.Reg) whose value is known.
type wireRegisters struct {
	Arch  string `json:"arch"`
	Note  []byte `json:"note"`
	Known uint64 `json:"known"`
	// Vectors is the length of vectors in bytes, which Note has not; 0 for unknown.
	Vectors uint64 `json:"vectors,omitempty"`
}

type wireSyscall struct {
	Number int64     `json:"number"`
	Args   [6]uint64 `json:"args"`
	SP     mem.Addr  `json:"sp"`
	PC     mem.Addr  `json:"pc"`
}

func headOf(s *Snapshot) wireHead {
	h := wireHead{PID: s.Process.PID, Comm: text(s.Process.Comm), Cmdline: texts[text](s.Process.Cmdline),
		Exe: text(s.Process.Exe), Role: text(s.Process.Role), Time: s.Time.UTC(), Stopped: s.Stopped,
		Rolling: s.Rolling, NoStop: s.NoStop,
		FDs: textMap[text](s.FDs), Exited: s.Exited, Late: s.Late, Left: s.Left, Batches: s.Batches,
		Problems: texts[text](s.Problems), HasMaps: s.Maps != nil, Clock: s.Clock, Core: s.Core}
	h.Host = nameOf(s.Host)
	for _, c := range s.Changed {
		h.Changed = append(h.Changed, wireSpan(c))
	}
	return h
}

func (h *wireHead) snapshot() (*Snapshot, error) {
	s := &Snapshot{Process: Process{PID: h.PID, Comm: string(h.Comm), Cmdline: texts[string](h.Cmdline),
		Exe: string(h.Exe), Role: string(h.Role)},
		Time: h.Time.UTC(), Stopped: h.Stopped, Rolling: h.Rolling, NoStop: h.NoStop, FDs: textMap[string](h.FDs),
		Exited: h.Exited, Late: h.Late, Left: h.Left, Batches: h.Batches, Problems: texts[string](h.Problems),
		Clock: h.Clock, Core: h.Core}
	for _, c := range h.Changed {
		s.Changed = append(s.Changed, maps.Span(c))
	}
	var err error
	if s.Host, err = lookup(h.Host); err != nil {
		return nil, err
	}
	return s, nil
}

func fileOf(f *File) wireFile {
	return wireFile{text(f.Path), f.Dev, f.Inode, text(f.BuildID), text(f.Sum), text(f.Err), f.NotELF}
}

func (w *wireFile) file() File {
	return File{string(w.Path), w.Dev, w.Inode, string(w.BuildID), string(w.Sum), string(w.Err), w.NotELF}
}

// nameOf is "" for an architecture that is not known.
func nameOf(a *regs.Arch) string {
	if a == nil {
		return ""
	}
	return a.Name
}

// lookup is the inverse of nameOf.
func lookup(name string) (*regs.Arch, error) {
	if name == "" {
		return nil, nil
	}
	a, ok := regs.Lookup(name)
	if !ok {
		return nil, fmt.Errorf("architecture %q is not known", name)
	}
	return a, nil
}

func mappingOf(m *maps.Mapping) wireMapping {
	return wireMapping{Start: m.Start, End: m.End, Perm: uint8(m.Perm), Offset: m.Offset,
		Dev: m.Dev, Inode: m.Inode, Path: text(m.Path), Deleted: m.Deleted}
}

func (m *wireMapping) mapping() maps.Mapping {
	return maps.Mapping{Start: m.Start, End: m.End, Perm: maps.Perm(m.Perm), Offset: m.Offset,
		Dev: m.Dev, Inode: m.Inode, Path: string(m.Path), Deleted: m.Deleted}
}

func threadOf(t *Thread) (wireThread, error) {
	w := wireThread{TID: t.TID, Inner: t.Inner, Comm: text(t.Comm), State: t.State, Arch: nameOf(t.Arch),
		PACMask: t.PACMask, Stack: rangeOf(t.Stack),
		Wchan: text(t.Wchan), KernelStack: texts[text](t.KernelStack), NotStopped: text(t.NotStopped),
		Stopped: t.Stopped, KernelWorker: t.KernelWorker, Syscall: (*wireSyscall)(t.Syscall), Time: t.Time.UTC(),
		Counters: (*wireCounters)(t.Counters), Signal: (*wireSignal)(t.Signal)}
	if t.HasTP {
		w.TP = &t.TP
	}
	for _, s := range t.Shortfalls {
		w.Shortfalls = append(w.Shortfalls, wireShortfall{text(s.Copier), text(s.Why.Error())})
	}
	if t.StackErr != nil {
		e := text(t.StackErr.Error())
		w.StackErr = &e
	}
	if t.Registers != nil {
		r, err := registersOf(t.Registers)
		if err != nil {
			return w, err
		}
		w.Registers = r
	}
	return w, nil
}

// thread returns all but what was copied.
func (w *wireThread) thread() (Thread, error) {
	t := Thread{TID: w.TID, Inner: w.Inner, Comm: string(w.Comm), State: w.State, PACMask: w.PACMask,
		Stack: mem.Range{Start: w.Stack.Start},
		Wchan: string(w.Wchan), KernelStack: texts[string](w.KernelStack), NotStopped: string(w.NotStopped),
		Stopped: w.Stopped, KernelWorker: w.KernelWorker, Syscall: (*Syscall)(w.Syscall), Time: w.Time.UTC(),
		Counters: (*Counters)(w.Counters), Signal: (*Signal)(w.Signal)}
	var err error
	if t.Arch, err = lookup(w.Arch); err != nil {
		return t, err
	}
	if w.TP != nil {
		t.TP, t.HasTP = *w.TP, true
	}
	for _, s := range w.Shortfalls {
		t.Shortfalls = append(t.Shortfalls, Shortfall{string(s.Copier), errors.New(string(s.Why))})
	}
	if w.StackErr != nil {
		t.StackErr = errors.New(string(*w.StackErr))
	}
	if w.Registers != nil {
		r, err := w.Registers.registers()
		if err != nil {
			return t, err
		}
		t.Registers = &r
	}
	return t, nil
}

func rangeOf(r mem.Range) wireRange { return wireRange{r.Start, uint64(len(r.Data))} }

var errNoArch = errors.New("registers of no architecture")

func registersOf(r *regs.Registers) (*wireRegisters, error) {
	if r.Arch == nil {
		return nil, errNoArch
	}
	w := &wireRegisters{Arch: r.Arch.Name, Note: r.Encode(), Vectors: r.Vectors()}
	for i := range regs.Max {
		if _, ok := r.Get(regs.Reg(i)); ok {
			w.Known |= 1 << i
		}
	}
	return w, nil
}

func (w *wireRegisters) registers() (regs.Registers, error) {
	a, err := lookup(w.Arch)
	if err == nil && a == nil {
		err = errNoArch
	}
	if err != nil {
		return regs.Registers{}, err
	}
	r, err := a.Decode(w.Note)
	if err != nil {
		return r, err
	}
	r.SetVectors(w.Vectors)
	for i := range regs.Max {
		if w.Known&(1<<i) == 0 {
			r.Forget(regs.Reg(i))
		}
	}
	return r, nil
}
