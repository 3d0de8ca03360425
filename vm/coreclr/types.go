package coreclr

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
)

// Bounds of types.
const (
	maxTypeDepth = 8   // arguments of arguments
	maxTypeArgs  = 64  // of one type
	maxTypes     = 256 // of one method in all: types that contain themselves would be 64 to the power of 8
)

// Flags of a MethodTable. Source: enum WFLAGS_HIGH_ENUM, WFLAGS_LOW_ENUM in src/coreclr/vm/methodtable.h.
const (
	hasComponents  = 1 << 31 // the lower flags are a size then
	genericMask    = 0x30
	genericTypical = 0x30 // a generic type itself
	categoryArrays = 0xC0000
	categoryArray  = 0x80000
	onlyVector     = 0x20000 // of rank 1, from 0
)

// Element types of a TypeDesc, ELEMENT_TYPE_XXX of ECMA-335 II.23.1.16.
const (
	elementPointer        = 0x0f
	elementByRef          = 0x10
	elementVariable       = 0x13
	elementFunction       = 0x1b
	elementMethodVariable = 0x1e
)

var errTypes = errors.New("its generic arguments contradict themselves")

// typeOf reads the type that a TypeHandle leads to, to that depth.
func (r *Runtime) typeOf(v mem.Reader, handle mem.Addr, depth int) Type {
	r.types++
	switch {
	case r.types > maxTypes:
		return Type{Addr: handle, Err: errTypes}
	case handle == 0:
		return Type{Err: errors.New("it has no type")}
	case depth == 0:
		return Type{Addr: handle, Err: errors.New("it is nested too deep")}
	case handle&2 != 0:
		return r.describedType(v, handle&^2, depth)
	}
	l, f := r.layout, fields{m: v, at: handle}
	flags := f.uint(l.tableFlags, 4)
	t := Type{Kind: NamedType, Addr: handle}
	if flags&categoryArrays == categoryArray {
		return r.arrayType(v, handle, flags, depth)
	}
	if l.tokenIn16 {
		t.Token = uint32(f.uint(l.tableFlags2+2, 2))
	} else {
		t.Token = uint32(f.uint(l.tableFlags2, 4) >> 8)
	}
	if f.err != nil {
		return Type{Addr: handle, Err: fmt.Errorf("read type %#x: %w", uint64(handle), f.err)}
	}
	t.Token |= typeTokens
	t.Module = r.moduleOfTable(v, handle)
	if flags&hasComponents == 0 && flags&genericMask != 0 && flags&genericMask != genericTypical {
		t.Args, t.Err = r.typeArgs(v, handle, depth)
	}
	return t
}

// arrayType reads the MethodTable of an array, which has its element's type where others have their dictionaries.
func (r *Runtime) arrayType(v mem.Reader, table mem.Addr, flags uint64, depth int) Type {
	l, f := r.layout, fields{m: v, at: table}
	element := r.typeOf(v, mem.Addr(f.word(l.tableInstances)), depth-1)
	t := Type{Kind: ArrayType, Addr: table, Elem: &element, Rank: 1, MultiDim: flags&onlyVector == 0}
	if t.MultiDim {
		class := fields{m: v, at: mem.Addr(f.word(l.tableClass))}
		if class.at&1 != 0 { // of the type that it shares its class with
			class.at = mem.Addr(fields{m: v, at: class.at &^ 1}.pointer(l.tableClass))
		}
		if rank := class.uint(l.arrayRank, 1); class.err == nil && rank > 0 && rank <= 32 {
			t.Rank = int(rank)
		}
	}
	return t
}

// describedType reads a TypeDesc.
func (r *Runtime) describedType(v mem.Reader, a mem.Addr, depth int) Type {
	l, f := r.layout, fields{m: v, at: a}
	kind := f.uint(0, 4) & 0xff
	t := Type{Addr: a}
	switch kind {
	case elementPointer, elementByRef:
		element := r.typeOf(v, mem.Addr(f.word(l.paramArgument)), depth-1)
		t.Kind, t.Elem = PointerType, &element
		if kind == elementByRef {
			t.Kind = ByRefType
		}
	case elementVariable, elementMethodVariable:
		t.Kind, t.Token = TypeVariable, uint32(f.uint(l.variableToken, 4))
	case elementFunction:
		t.Kind = FunctionType
	default:
		t.Err = fmt.Errorf("its type is of kind %#x", kind)
	}
	if f.err != nil {
		t.Kind, t.Err = NoType, f.err
	}
	return t
}

// typeArgs reads the arguments of a generic type: PerInstInfo leads to its dictionaries, of which its own is the last,
// and before them is how many there are, and how many arguments.
func (r *Runtime) typeArgs(v mem.Reader, table mem.Addr, depth int) ([]Type, error) {
	f := fields{m: v, at: table}
	at := mem.Addr(f.word(r.layout.tableInstances))
	f.at = at
	dictionaries, n := f.uint(-4, 2), f.uint(-2, 2)
	if f.err == nil && (dictionaries == 0 || dictionaries > 1<<10 || n == 0 || n > maxTypeArgs) {
		return nil, errTypes
	}
	own := mem.Addr(f.word(int64(wordSize * (dictionaries - 1))))
	if f.err != nil {
		return nil, f.err
	}
	return r.readTypes(v, own, int(n), depth)
}

// methodArgs reads the arguments of a generic method.
func (r *Runtime) methodArgs(v mem.Reader, desc mem.Addr) ([]Type, error) {
	l, f := r.layout, fields{m: v, at: desc}
	at, n := mem.Addr(f.word(l.instantiatedDictionary)), f.uint(l.instantiatedArgs, 2)
	if f.err != nil {
		return nil, f.err
	}
	const kindMask, typical = 7, 0 // enum in class InstantiatedMethodDesc, src/coreclr/vm/method.hpp
	if flags := f.uint(l.instantiatedArgs-2, 2); at == 0 || n == 0 || f.err == nil && flags&kindMask == typical {
		return nil, nil
	}
	if n > maxTypeArgs {
		return nil, errTypes
	}
	return r.readTypes(v, at, int(n), maxTypeDepth)
}

// readTypes reads n TypeHandles at a.
func (r *Runtime) readTypes(v mem.Reader, a mem.Addr, n, depth int) ([]Type, error) {
	b := make([]byte, n*wordSize)
	if _, err := v.ReadMem(b, a); err != nil {
		return nil, err
	}
	out := make([]Type, n)
	for i := range out {
		out[i] = r.typeOf(v, mem.Addr(order.Uint64(b[i*wordSize:])), depth-1)
	}
	return out, nil
}
