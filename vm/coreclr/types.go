package coreclr

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
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

// overflow is what a type has in place of its row on .NET 8 where that needs more than 16 bits.
// Source: METHODTABLE_TOKEN_OVERFLOW in src/coreclr/vm/methodtable.h of 8.0.
const overflow = 0xffff

var errManyTypes = errors.New("its module has more types than 65,534, and .NET 8 has their rows elsewhere")

var errTypes = errors.New("its generic arguments contradict themselves")

// typeOf reads the type that a TypeHandle leads to, to that depth.
func (r *Runtime) typeOf(v *view.View, handle mem.Addr, depth int) Type {
	r.types++
	switch {
	case r.types > maxTypes:
		return Type{Err: errTypes}
	case handle == 0:
		return Type{Err: errors.New("it has no type")}
	case depth == 0:
		return Type{Err: errors.New("it is nested too deep")}
	case handle&2 != 0:
		return r.describedType(v, handle&^2, depth)
	}
	l, f := r.layout, v.Fields(handle)
	flags := f.Uint(l.tableFlags, 4)
	t := Type{Kind: NamedType}
	if flags&categoryArrays == categoryArray {
		return r.arrayType(v, handle, flags, depth)
	}
	if l.tokenIn16 {
		t.Token = uint32(f.Uint(l.tableFlags2+2, 2))
	} else {
		t.Token = uint32(f.Uint(l.tableFlags2, 4) >> 8)
	}
	switch {
	case f.Err != nil:
		return Type{Err: fmt.Errorf("read type %#x: %w", uint64(handle), f.Err)}
	case l.tokenIn16 && t.Token == overflow:
		t.Token = 0
	default:
		t.Token |= typeTokens
	}
	t.Module = r.moduleOfTable(v, handle)
	if flags&hasComponents == 0 && flags&genericMask != 0 && flags&genericMask != genericTypical {
		t.Args, t.Err = r.typeArgs(v, handle, depth)
	}
	return t
}

// arrayType reads the MethodTable of an array, which has its element's type where others have their dictionaries.
func (r *Runtime) arrayType(v *view.View, table mem.Addr, flags uint64, depth int) Type {
	l, f := r.layout, v.Fields(table)
	of := f.Addr(l.tableInstances)
	if f.Err != nil {
		return Type{Err: f.Err}
	}
	element := r.typeOf(v, of, depth-1)
	t := Type{Kind: ArrayType, Elem: &element, Rank: 1, MultiDim: flags&onlyVector == 0}
	if !t.MultiDim {
		return t
	}
	class := v.Fields(f.Addr(l.tableClass))
	if class.At&1 != 0 { // of the type that it shares its class with
		class.At &^= 1
		class.At = class.Addr(l.tableClass)
	}
	switch rank := class.Uint(l.arrayRank, 1); {
	case f.Err != nil, class.Err != nil:
		t.Err = errors.Join(f.Err, class.Err)
	case rank > 0 && rank <= maxRank:
		t.Rank = int(rank)
	default:
		t.Err = errTypes
	}
	return t
}

const maxRank = 32 // of an array

// describedType reads a TypeDesc.
func (r *Runtime) describedType(v *view.View, a mem.Addr, depth int) Type {
	l, f := r.layout, v.Fields(a)
	kind := f.Uint(0, 4) & 0xff
	t := Type{}
	switch kind {
	case elementPointer, elementByRef:
		of := f.Addr(l.paramArgument)
		if f.Err != nil {
			break
		}
		element := r.typeOf(v, of, depth-1)
		t.Kind, t.Elem = PointerType, &element
		if kind == elementByRef {
			t.Kind = ByRefType
		}
	case elementVariable, elementMethodVariable:
		t.Kind, t.Token = TypeVariable, uint32(f.Uint(l.variableToken, 4))
	case elementFunction:
		t.Kind = FunctionType
	default:
		t.Err = fmt.Errorf("its type is of kind %#x", kind)
	}
	if f.Err != nil {
		t.Kind, t.Err = NoType, f.Err
	}
	return t
}

// typeArgs reads the arguments of a generic type.
func (r *Runtime) typeArgs(v *view.View, table mem.Addr, depth int) ([]Type, error) {
	own, n, err := r.dictionary(v, table)
	if err != nil {
		return nil, err
	}
	return r.readTypes(v, own, n, depth)
}

// dictionary is where the n arguments of a generic type are: PerInstInfo leads to its dictionaries, of which its own is
// the last, and before them is how many there are, and how many arguments.
func (r *Runtime) dictionary(v *view.View, table mem.Addr) (own mem.Addr, n int, err error) {
	f := v.Fields(table)
	f.At = f.Addr(r.layout.tableInstances)
	dictionaries, arguments := f.Uint(-4, 2), f.Uint(-2, 2)
	if f.Err == nil && (dictionaries == 0 || dictionaries > 1<<10 || arguments == 0 || arguments > maxTypeArgs) {
		return 0, 0, errTypes
	}
	return f.Addr(int64(wordSize * (dictionaries - 1))), int(arguments), f.Err
}

// methodArgs reads the arguments of a generic method.
func (r *Runtime) methodArgs(v *view.View, desc mem.Addr) ([]Type, error) {
	l, f := r.layout, v.Fields(desc)
	at, n := f.Addr(l.instantiatedDictionary), f.Uint(l.instantiatedArgs, 2)
	const kindMask, typical = 7, 0 // enum in class InstantiatedMethodDesc, src/coreclr/vm/method.hpp
	switch flags := f.Uint(l.instantiatedArgs-2, 2); {
	case f.Err != nil:
		return nil, f.Err
	case at == 0 || n == 0 || flags&kindMask == typical:
		return nil, nil
	}
	if n > maxTypeArgs {
		return nil, errTypes
	}
	return r.readTypes(v, at, int(n), maxTypeDepth)
}

// readTypes reads n TypeHandles at a.
func (r *Runtime) readTypes(v *view.View, a mem.Addr, n, depth int) ([]Type, error) {
	handles, err := v.Words(a, n)
	if err != nil {
		return nil, err
	}
	out := make([]Type, n)
	for i, h := range handles {
		out[i] = r.typeOf(v, mem.Addr(h), depth-1)
	}
	return out, nil
}
