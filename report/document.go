package report

import (
	"time"

	"github.com/fpstack/fpstack/profile"
)

// Schema is the value of "schema" in the document that JSON writes; its number changes when a
// reader of the old form would misread the new one.
const Schema = "fpstack.dump/1"

// The types below are the document, described member by member in
// docs/schema/fpstack.dump.1.schema.json. What is not known is absent.

type document struct {
	Schema   string       `json:"schema"`
	Time     *time.Time   `json:"time,omitempty"`
	Stopped  int64        `json:"stopped_ns"`
	Rolling  bool         `json:"rolling"`
	Core     bool         `json:"core,omitempty"`
	NoStop   bool         `json:"no_stop,omitempty"`
	Batches  int          `json:"batches,omitempty"`
	Process  processDoc   `json:"process"`
	Threads  []*threadDoc `json:"threads"`
	Modules  []*moduleDoc `json:"modules"`
	Exited   int          `json:"exited"`
	Late     int          `json:"late"`
	Problems []string     `json:"problems"`
	Notes    []string     `json:"notes,omitempty"`

	Fibers      []*fiberDoc      `json:"fibers,omitempty"`
	FiberStacks []*fiberStackDoc `json:"fiber_stacks,omitempty"`

	Waits *waitsDoc `json:"waits,omitempty"`
}

type processDoc struct {
	PID     int      `json:"pid"`
	Comm    string   `json:"comm,omitempty"`
	Cmdline []string `json:"cmdline"`
	Exe     string   `json:"exe,omitempty"`
	Role    string   `json:"role,omitempty"`
	Arch    string   `json:"arch,omitempty"`
}

type threadDoc struct {
	TID         int               `json:"tid"`
	Name        string            `json:"name,omitempty"`
	State       string            `json:"state,omitempty"`
	Stopped     int64             `json:"stopped_ns"`
	NotStopped  string            `json:"not_stopped,omitempty"`
	Counters    *countsDoc        `json:"counters,omitempty"`
	NoUserCode  bool              `json:"no_user_code,omitempty"`
	Syscall     *syscallDoc       `json:"syscall,omitempty"`
	Wchan       string            `json:"wchan,omitempty"`
	KernelStack []string          `json:"kernel_stack,omitempty"`
	Idle        string            `json:"idle,omitempty"`
	Fiber       *fiberIDDoc       `json:"fiber,omitempty"`
	Wait        *profile.Wait     `json:"wait,omitempty"`
	Signal      *signalDoc        `json:"signal,omitempty"`
	Loop        *loopDoc          `json:"event_loop,omitempty"`
	Locals      []*localsDoc      `json:"locals,omitempty"`
	Runtime     *runtimeThreadDoc `json:"runtime,omitempty"`
	Stack       stackDoc          `json:"stack"`
}

type signalDoc struct {
	Number  int    `json:"number"`
	Name    string `json:"name"`
	Code    *int   `json:"code,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Address string `json:"address,omitempty"`
	Sender  int    `json:"sender,omitempty"`
}

type countsDoc struct {
	CPU      int64  `json:"cpu_ns"`
	Waited   int64  `json:"waited_ns"`
	Switches uint64 `json:"switches"`
}

type fiberIDDoc struct {
	Kind string `json:"kind"`
	ID   uint64 `json:"id"`
	Name string `json:"name,omitempty"`
}

type fiberDoc struct {
	Kind    string `json:"kind"`
	ID      uint64 `json:"id"`
	Name    string `json:"name,omitempty"`
	State   string `json:"state"`
	Waits   int64  `json:"waits_ns,omitempty"`
	Locked  bool   `json:"locked,omitempty"`
	System  bool   `json:"system,omitempty"`
	TID     int    `json:"tid,omitempty"`
	Stack   int    `json:"stack"`
	Missing string `json:"missing,omitempty"`
	Creator uint64 `json:"creator,omitempty"`

	AwaitedBy []uint64 `json:"awaited_by,omitempty"`
	HeldBy    []uint64 `json:"held_by,omitempty"`
	Timed     bool     `json:"timed,omitempty"`
	LoopTID   int      `json:"loop_tid,omitempty"`
	Wait      string   `json:"wait,omitempty"`
	Object    string   `json:"object,omitempty"`
	Test      string   `json:"test,omitempty"`

	Locals []*localsDoc `json:"locals,omitempty"`
}

type fiberStackDoc struct {
	Stack     stackDoc    `json:"stack"`
	CreatedBy []*frameDoc `json:"created_by,omitempty"`
}

type syscallDoc struct {
	Number int64    `json:"number"`
	Name   string   `json:"name,omitempty"`
	Args   []argDoc `json:"args"`
}

type argDoc struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value"`
	Text  string `json:"text,omitempty"`
	FD    string `json:"fd,omitempty"`
}

type stackDoc struct {
	Complete bool        `json:"complete"`
	Stop     string      `json:"stop,omitempty"`
	Detail   string      `json:"detail,omitempty"`
	Frames   []*frameDoc `json:"frames"`
}

type frameDoc struct {
	Index         int    `json:"index"`
	Address       string `json:"address,omitempty"`
	Inlined       bool   `json:"inlined,omitempty"`
	Interrupted   bool   `json:"interrupted,omitempty"`
	Kind          string `json:"kind"`
	Function      string `json:"function,omitempty"`
	Linkage       string `json:"linkage,omitempty"`
	Offset        string `json:"offset,omitempty"`
	File          string `json:"file,omitempty"`
	Line          int    `json:"line,omitempty"`
	Column        int    `json:"column,omitempty"`
	Tier          string `json:"tier,omitempty"`
	Stub          bool   `json:"stub,omitempty"`
	Async         bool   `json:"async,omitempty"`
	Module        *int   `json:"module,omitempty"`
	ModuleAddress string `json:"module_address,omitempty"`
	WasmOffset    string `json:"wasm_offset,omitempty"`
	Origin        string `json:"origin,omitempty"`
	Note          string `json:"note,omitempty"`
	Unsure        bool   `json:"unsure,omitempty"`
	Gap           bool   `json:"gap,omitempty"`
}

type moduleDoc struct {
	ID      int      `json:"id"`
	Path    string   `json:"path"`
	BuildID string   `json:"build_id,omitempty"`
	Base    string   `json:"base"`
	Symbols []string `json:"symbols"`
	Debug   string   `json:"debug_file,omitempty"`
	Unread  string   `json:"unread,omitempty"`
	Error   string   `json:"error,omitempty"`
}
