// Package heap decodes words of a V8 heap: functions, their names, scripts, positions and lines. It knows no
// process and no stack, and keeps nothing; package vm/v8 finds the frames and asks it.
//
// The caller provides a [Layout], made once for each V8 from its v8dbg_ symbols, and a view.View. What is copied while
// the thread is stopped is true; what is read later, from a heap that moves meanwhile, is checked by the type of each
// object, by lengths and by what refers to it, and is an error where that does not fit. Each reader says what it reads.
//
// No reader panics, loops or reads without bound on bytes of a hostile heap: strings, arrays, tables and chains have
// bounds of their own ([MaxSource], [MaxName], maxDepth and others).
//
// The heap's layout follows V8 9.4 to 14.6 on x86-64 as Node.js builds it: no pointer compression, no sandbox. Sources:
// src/objects/*.tq and *.h, tools/gen-postmortem-metadata.py and src/common/globals.h of V8.
package heap

import "fmt"

// Version is that of V8, not of Node.js.
type Version struct{ Major, Minor, Build int32 }

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Build) }

// AtLeast reports whether v is major.minor or newer.
func (v Version) AtLeast(major, minor int32) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// newest is the newest V8 that was tried.
var newest = Version{14, 6, 202}

// untried reports whether v is newer than what was tried.
func (v Version) untried() bool { return v.AtLeast(newest.Major, newest.Minor+1) }

// Untried is what is to be said of a V8 that is newer than all that were tried; "" for one that is not.
func (l *Layout) Untried() string {
	if !l.Version.untried() {
		return ""
	}
	return fmt.Sprintf("it is newer than V8 %v, the newest that was tried: names and lines may be wrong", newest)
}

// Layout is where the heap and the frames of one V8 hold what a name needs. All offsets are bytes from the start of an
// object, which is its tagged pointer minus 1; types are instance types, the uint16 in the object's map.
//
// Layouts are made by [Read] and not changed afterwards, so goroutines may share one.
type Layout struct {
	Version Version

	Frame     FrameSlots
	Registers Registers
	Types     Types
	Kinds     CodeKinds

	Map       MapFields
	Strings   StringFields
	Function  FunctionFields
	Shared    SharedFields
	Scope     ScopeFields
	Script    ScriptFields
	Bytecode  BytecodeFields
	Code      CodeFields
	Deopt     DeoptIndices
	Property  PropertyFields
	Reaction  ReactionFields
	ArrayData int32 // first element of a FixedArray and first byte of a ByteArray
	ArrayLen  int32 // length of both, a SMI

	ObjectProperties int32 // of a JSObject: the properties that are not in it
	ObjectElements   int32 // of a JSObject: the properties whose names are numbers
	SymbolName       int32 // description of a Symbol
	NumberValue      int32 // of a HeapNumber
	OddballKind      int32 // SMI: 0 is false, 1 true
	DescriptorsData  int32 // first word of a DescriptorArray's entries
	DictionaryFirst  int32 // first element of a NameDictionary's entries

	frameTypes map[int32]string
}

// FrameSlots are offsets from the frame pointer, bytes. Source: StandardFrameConstants and
// InterpreterFrameConstants in src/execution/frame-constants.h.
type FrameSlots struct {
	Context        int32 // the context, or the frame's type as a SMI
	Function       int32
	ArgCount       int32
	BytecodeArray  int32
	BytecodeOffset int32
	Args           int32 // the receiver; arguments follow above it
}

// Registers are numbers of x86-64 as V8 and the instruction set count them: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5,
// rsi 6, rdi 7, r8 8 and on.
type Registers struct {
	Function       int32 // the JSFunction at the entry of a function
	Context        int32
	BytecodeArray  int32 // in a bytecode handler
	BytecodeOffset int32 // in a bytecode handler: of the current bytecode, biased as the frame's slot is
}

// Types are instance types. 0, which is a string's, means that this V8 has none such.
type Types struct {
	FirstFunction, LastFunction uint16 // JSFunction and its subclasses
	FirstContext, LastContext   uint16
	FirstNonstring              uint16 // types below are strings

	Shared            uint16 // SharedFunctionInfo
	SharedWrapper     uint16
	Scope             uint16 // ScopeInfo
	Script            uint16
	BytecodeArray     uint16
	Code              uint16
	InstructionStream uint16 // before V8 11 a Code holds its instructions itself
	FixedArray        uint16
	WeakFixedArray    uint16
	ByteArray         uint16
	TrustedByteArray  uint16
	Oddball           uint16
	Map               uint16
	Descriptors       uint16 // DescriptorArray
	AccessorPair      uint16
	PropertyArray     uint16
	Promise           uint16 // JSPromise
	PromiseReaction   uint16
	PromiseCapability uint16
	AsyncFunction     uint16    // JSAsyncFunctionObject
	AsyncGenerator    uint16    // JSAsyncGeneratorObject
	Generator         uint16    // JSGeneratorObject
	AsyncRequest      uint16    // AsyncGeneratorRequest
	Jobs              [3]uint16 // kinds of jobs of the microtask queue
	Module            uint16    // SourceTextModule
	ContextCell       uint16    // what a variable of a context is in, from V8 14 on
	MapObject         uint16    // JSMap
	SetObject         uint16    // JSSet
	APIObject         uint16    // an object that C++ has made a class for
	GlobalObject      uint16
	GlobalProxy       uint16
	Symbol            uint16
	HeapNumber        uint16
	Array             uint16    // JSArray
	BoundFunction     uint16    // JSBoundFunction
	Uncompiled        [4]uint16 // kinds of UncompiledData
}

// CodeKinds are values of the field flags of a Code.
type CodeKinds struct {
	Mask, Shift int32 // kind = flags & Mask >> Shift
	Interpreted int32 // INTERPRETED_FUNCTION
	Baseline    int32
	Maglev      int32 // 0 where there is none
	Turbofan    int32
}

// MapFields are those of a Map, and where each object has its map.
type MapFields struct {
	Of              int32 // in each object
	InstanceType    int32 // uint16
	BitField3       int32
	Prototype       int32
	Constructor     int32 // or back pointer
	Descriptors     int32
	InObjectStart   int32 // uint8, words
	InstanceSize    int32 // uint8, words
	DescriptorCount bits
	DictionaryBit   int32
}

// StringFields are those of all kinds of strings, and the bits of their types.
type StringFields struct {
	Length                         int32 // uint32, UTF-16 units
	Chars                          int32 // of a sequential string
	ConsFirst, ConsSecond          int32
	ThinActual                     int32
	SlicedParent, SlicedOffset     int32
	ExternalResource, ExternalData int32
	RepresentationMask             int32
	Seq, Cons, External            int32
	Sliced, Thin                   int32
	OneByte                        int32 // bit
}

// PropertyFields are bits of a property's details.
type PropertyFields struct {
	Index      bits  // of its field
	Descriptor int32 // it has no field, its value is beside the details
}

// ReactionFields are those of a PromiseReaction.
type ReactionFields struct{ Next, Fulfill, Promise int32 }

// FunctionFields are those of a JSFunction.
type FunctionFields struct{ Shared, Context int32 }

// SharedFields are those of a SharedFunctionInfo.
type SharedFields struct {
	Data        int32 // function_data: what it is compiled to, or what compiling it takes
	NameOrScope int32
	Script      int32
	Flags       int32
	TokenOffset int32 // uint16: start of the function minus that of its first token; 0xffff is unknown
	InWrapper   int32 // the SharedFunctionInfo in a SharedFunctionInfoWrapper
	// StartPosition and Name are those of UncompiledData.
	UncompiledName, UncompiledStart int32
}

// ScopeFields are slots of 8 bytes behind the map of a ScopeInfo.
type ScopeFields struct {
	Flags, Locals, FirstVars int32
	// Positions is the slot of the start position, the end position behind it; 0 where they come last.
	Positions int32
	// MaxInlined is the number of locals from which their names are in a hash table.
	MaxInlined int32
}

// ScriptFields are those of a Script.
type ScriptFields struct {
	Source, Name, LineOffset, ColumnOffset, LineEnds int32
	SourceURL, MapURL                                int32 // what its text says of itself
}

// BytecodeFields are those of a BytecodeArray.
type BytecodeFields struct{ Length, Positions, Data int32 }

// CodeFields are those of a Code.
type CodeFields struct {
	// Deopt is the deoptimisation data of optimised code, and in baseline code the BytecodeArray.
	Deopt int32
	// Positions is the position table of optimised code, and in baseline code the table of PC lengths.
	Positions int32
	Start     int32 // of the instructions: a pointer, or if Inline the instructions themselves
	Size      int32 // of the instructions, uint32, bytes
	Flags     int32 // uint32
	Inline    bool  // there is no InstructionStream: instructions lie in the Code object
	// StreamCode is where an InstructionStream has its Code.
	StreamCode int32
}

// DeoptIndices are elements of a DeoptimizationData.
type DeoptIndices struct {
	InlinedCount, Literals, Inlining int32
	Shared                           int32 // bare, or in a SharedFunctionInfoWrapper
}

// FrameType is the name of a frame type, as InterpretedFrame or BuiltinExitFrame, of the number in a frame's marker.
func (l *Layout) FrameType(number int32) (string, bool) {
	name, ok := l.frameTypes[number]
	return name, ok
}

// bits is a field of a word.
type bits struct{ Mask, Shift int32 }

func (b bits) of(word uint64) int { return int(word & uint64(uint32(b.Mask)) >> uint(b.Shift)) }
