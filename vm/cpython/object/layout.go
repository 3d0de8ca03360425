// Package object reads objects of CPython by their layout: strings, code objects, line tables, frames and the states
// of threads. It knows no process and no stack: its caller gives it bytes.
//
// All bytes may be of a hostile process: each loop is bounded, and what makes no sense is reported as not there.
//
// Sources: Include/internal/pycore_interp.h, pycore_frame.h, pycore_runtime.h, pycore_debug_offsets.h,
// Include/cpython/code.h and unicodeobject.h of CPython 3.8 to 3.15; x86-64.
package object

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Version is the release of an interpreter, as 3.12.
type Version struct{ Major, Minor int }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Layout says where the fields are, in bytes from the start of their structs.
type Layout struct {
	Version      Version
	FreeThreaded bool

	Runtime RuntimeLayout
	Interp  InterpLayout
	Thread  ThreadLayout
	CFrame  CFrameLayout
	Frame   FrameLayout
	Code    CodeLayout
	Gen     GenLayout
	String  StringLayout
	Header  int // of an object of fixed size: reference count and type
}

// RuntimeLayout is of _PyRuntimeState.
type RuntimeLayout struct {
	Interpreters int
	GIL          int // the GIL of all interpreters: its last_holder, with locked behind it; 0 where each has its own
}

// InterpLayout is of PyInterpreterState.
type InterpLayout struct {
	Next, ID, Threads, Modules int
	GIL                        int // a pointer to its GIL; 0 where there is one for all
	Collecting                 int // int: the garbage collector is at work
	CollectingInRuntime        int // the same where it is in _PyRuntimeState; 0 elsewhere
}

// ThreadLayout is of PyThreadState.
type ThreadLayout struct {
	Next, Interp, ThreadID int
	NativeID               int // the kernel's number of the thread; 0 where it is not kept
	Frame                  int // the innermost frame; 0 where CFrame leads to it
	CFrame                 int // the innermost CFrame; 0 where there are none
	Chunk                  int // of the data stack, with its top behind it; 0 where frames are objects
	Base                   int // the frame that ends every chain; 0 where the chain ends with null
	Size                   int // up to the last field that is read
}

// CFrameLayout is of _PyCFrame (CFrame in 3.10), one for each call of the eval loop, on the stack of its thread.
type CFrameLayout struct{ Frame, Previous, Size int }

// FrameLayout is of _PyInterpreterFrame (_frame up to 3.10).
type FrameLayout struct {
	Previous, Code, Instr int
	Lasti                 bool // Instr is an int, counted in units of Unit bytes, and no pointer
	Unit                  int
	Owner                 int // 0 where frames have none
	IsEntry               int // a byte: no frame above it was called by the same eval loop; 0 where Owner says so
	TLBC                  int // int32: which copy of the bytecode it executes; 0 where there is one
	// Top says where the values end that it computes with, by TopIs.
	Top    int
	TopIs  topForm
	Locals int // the first of the local variables, with those values behind them
	Size   int
}

// topForm is what a frame has at Top.
type topForm uint8

const (
	topPointer topForm = iota // the address
	topDepth                  // where the values begin, with an int how many there are at Top+16
	topIndex                  // an int: how many words behind Locals
)

// CodeLayout is of PyCodeObject.
type CodeLayout struct {
	Filename, Name, Qualname int // Qualname is 0 where there is none
	FirstLine, Lines         int
	Bytecode                 int // where the instructions begin; 0 where they are an object of their own
	TLBC                     int
	// Variables are tuples of the names of local variables, in the order of their values: one up to 3.10 for each of
	// plain variables, cells, and variables of an enclosing function, then one for all.
	Variables []int
	Kinds     int // a byte for each of them, in bytes; 0 where each tuple has one kind
	Object    int // the instructions, where they are an object of their own
	Size      int // up to the last field that is read
}

// GenLayout is of PyGenObject, PyCoroObject and PyAsyncGenObject.
type GenLayout struct {
	Frame int
	Apart bool // Frame is a pointer to it
	State int  // int8, of the generator, or where Frame is a pointer of the frame; 0: its fields say that
}

// StringLayout is of PyASCIIObject and PyCompactUnicodeObject.
type StringLayout struct {
	Length, State, ASCII, Compact int
	Shift                         int // of kind in State, bits
}

// Owners of frames from 3.11 on. Source: enum _frameowner in pycore_frame.h.
const OwnedByCStack = 3 // an entry frame, without code, in the frame of the eval loop; from 3.12 on

// ErrUnknown says that a release is not known: its fields may be anywhere.
var ErrUnknown = errors.New("its layout is not known")

const (
	firstMinor, lastMinor = 8, 15
	firstOffsets          = 13 // the first release that describes itself
)

// order is that of x86-64.
var order = binary.LittleEndian

// Known returns the Layout of a release that does not describe itself, 3.8 to 3.12.
func Known(v Version) (*Layout, error) {
	if v.Major != 3 || v.Minor < firstMinor || v.Minor >= firstOffsets {
		return nil, fmt.Errorf("CPython %v: %w; known are 3.%d to 3.%d", v, ErrUnknown, firstMinor, lastMinor)
	}
	l := tables[v.Minor-firstMinor]
	l.Version, l.Header = v, 16
	l.String = StringLayout{Length: 16, State: 32, ASCII: 48, Compact: 72, Shift: 2}
	if v.Minor == 12 {
		l.String.ASCII, l.String.Compact = 40, 56
	}
	return &l, nil
}

// variables are co_varnames, co_cellvars and co_freevars up to 3.10.
var variables = []int{72, 88, 80}

// tables are those of 3.8 to 3.12. Inside a release nothing of it moved.
var tables = [...]Layout{
	{ // 3.8
		Runtime: RuntimeLayout{Interpreters: 32, GIL: 1160},
		Interp:  InterpLayout{Next: 0, ID: 16, Threads: 8, Modules: 56, CollectingInRuntime: 544},
		Thread:  ThreadLayout{Next: 8, Interp: 16, Frame: 24, ThreadID: 176, Size: 184},
		Frame:   FrameLayout{Previous: 24, Code: 32, Instr: 104, Lasti: true, Unit: 1, Top: 72, Locals: 360, Size: 112},
		Code: CodeLayout{Filename: 104, Name: 112, FirstLine: 40, Lines: 120, Variables: variables, Object: 48,
			Size: 128},
		Gen: GenLayout{Frame: 16, Apart: true},
	},
	{ // 3.9
		Runtime: RuntimeLayout{Interpreters: 32, GIL: 360},
		Interp:  InterpLayout{Next: 0, ID: 24, Threads: 8, Modules: 856, Collecting: 816},
		Thread:  ThreadLayout{Next: 8, Interp: 16, Frame: 24, ThreadID: 176, Size: 184},
		Frame:   FrameLayout{Previous: 24, Code: 32, Instr: 104, Lasti: true, Unit: 1, Top: 72, Locals: 360, Size: 112},
		Code: CodeLayout{Filename: 104, Name: 112, FirstLine: 40, Lines: 120, Variables: variables, Object: 48,
			Size: 128},
		Gen: GenLayout{Frame: 16, Apart: true},
	},
	{ // 3.10
		Runtime: RuntimeLayout{Interpreters: 32, GIL: 360},
		Interp:  InterpLayout{Next: 0, ID: 24, Threads: 8, Modules: 856, Collecting: 816},
		Thread:  ThreadLayout{Next: 8, Interp: 16, Frame: 24, CFrame: 48, ThreadID: 176, Size: 184},
		CFrame:  CFrameLayout{Frame: -1, Previous: 8, Size: 16},
		Frame: FrameLayout{Previous: 24, Code: 32, Instr: 96, Lasti: true, Unit: 2, Top: 64, TopIs: topDepth,
			Locals: 352, Size: 104},
		Code: CodeLayout{Filename: 104, Name: 112, FirstLine: 40, Lines: 120, Variables: variables, Object: 48,
			Size: 128},
		Gen: GenLayout{Frame: 16, Apart: true, State: 108},
	},
	{ // 3.11
		Runtime: RuntimeLayout{Interpreters: 40, GIL: 368},
		Interp:  InterpLayout{Next: 0, ID: 48, Threads: 16, Modules: 888, Collecting: 848},
		Thread:  ThreadLayout{Next: 8, Interp: 16, CFrame: 56, ThreadID: 152, NativeID: 160, Chunk: 296, Size: 312},
		CFrame:  CFrameLayout{Frame: 8, Previous: 16, Size: 24},
		Frame: FrameLayout{Previous: 48, Code: 32, Instr: 56, Owner: 69, IsEntry: 68, Top: 64, TopIs: topIndex,
			Locals: 72, Size: 72},
		Code: CodeLayout{Filename: 112, Name: 120, Qualname: 128, FirstLine: 72, Lines: 136, Bytecode: 184,
			Variables: []int{96}, Kinds: 104, Size: 144},
		Gen: GenLayout{Frame: 80, State: 75},
	},
	{ // 3.12
		Runtime: RuntimeLayout{Interpreters: 40},
		Interp:  InterpLayout{Next: 0, ID: 8, Threads: 72, Modules: 944, GIL: 384, Collecting: 312},
		Thread:  ThreadLayout{Next: 8, Interp: 16, CFrame: 56, ThreadID: 136, NativeID: 144, Chunk: 232, Size: 248},
		CFrame:  CFrameLayout{Frame: 0, Previous: 8, Size: 16},
		Frame: FrameLayout{Previous: 8, Code: 0, Instr: 56, Owner: 70, Top: 64, TopIs: topIndex, Locals: 72,
			Size: 72},
		Code: CodeLayout{Filename: 112, Name: 120, Qualname: 128, FirstLine: 68, Lines: 136, Bytecode: 192,
			Variables: []int{96}, Kinds: 104, Size: 144},
		Gen: GenLayout{Frame: 72, State: 67},
	},
}
