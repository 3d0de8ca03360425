package coreclr

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
)

// Method is what a frame of managed code executes, as plain values: nothing of it is read from the target again, but
// the metadata that Module says the place of, which does not move.
type Method struct {
	Desc  mem.Addr // its MethodDesc; 0 where the code has none (stubs)
	Class Class    // of the MethodDesc
	Code  CodeKind
	Start mem.Addr // where its code begins: where that of the main body does, for a funclet too

	// Module defines the method: also of instances of generics, and of methods of other assemblies that were compiled
	// into this one.
	Module Module
	// origin tells it from all other methods: also from one of another module that lies where this one lay before.
	origin uint64
	// Token is that of the MethodDef, 0x06000000 | row; 0 for methods that metadata do not have.
	Token uint32
	// Type is the type that the method belongs to, with its arguments.
	Type Type
	// Args are the generic arguments of the method itself, nil for none. ArgsErr says why they are not known.
	Args    []Type
	ArgsErr error
	// Err says why the method itself is not known: nothing else is then.
	Err error
	// Name is what the runtime calls a dynamic method or an IL stub; "" for methods of metadata, and where it could
	// not be read.
	Name string

	// NativeOffset is where the code executes, bytes from Start, as tables are looked up with it: inside the call for a
	// return address.
	NativeOffset uint32
	// IL is the offset into the method's IL that this belongs to, if HasIL says so. ILErr says why it is not known.
	IL    int
	HasIL bool
	ILErr error
}

// fault is why not all that names m is known; nil if all is.
func (m *Method) fault() error {
	for _, err := range []error{m.Err, m.ArgsErr, m.Module.Err, m.Type.fault()} {
		if err != nil {
			return err
		}
	}
	for i := range m.Args {
		if err := m.Args[i].fault(); err != nil {
			return err
		}
	}
	return nil
}

// fault is that of a type and all that it consists of.
func (t *Type) fault() error {
	switch {
	case t.Err != nil:
		return t.Err
	case t.Kind == NamedType && t.Module.Err != nil:
		return t.Module.Err
	case t.Elem != nil:
		return t.Elem.fault()
	}
	for i := range t.Args {
		if err := t.Args[i].fault(); err != nil {
			return err
		}
	}
	return nil
}

// Class is the classification of a MethodDesc, mdcXXX.
// Source: enum MethodClassification in src/coreclr/vm/method.hpp.
type Class uint8

// The classes.
const (
	ILMethod           Class = iota // mcIL
	FCall                           // mcFCall: implemented in the runtime
	PInvoke                         // mcNDirect
	EEImpl                          // mcEEImpl: Invoke of delegates
	ArrayMethod                     // mcArray: Get, Set, Address, .ctor of an array type
	InstantiatedMethod              // mcInstantiated: generic method
	ComInterop                      // mcComInterop
	DynamicMethod                   // mcDynamic: IL stubs and methods of Reflection.Emit without a type
)

// CodeKind is how the code of a frame came to be.
type CodeKind uint8

// The kinds of code.
const (
	JITCode  CodeKind = iota // made while the program runs; which tier it is the runtime does not keep beside it
	R2RCode                  // precompiled, part of the image of its assembly
	StubCode                 // made by the runtime, without a MethodDesc: Name says what for
)

func (k CodeKind) String() string { return [...]string{"jit", "r2r", "stub"}[k] }

// Module is an assembly's module as the runtime has loaded it.
type Module struct {
	Addr mem.Addr // the runtime's Module; 0: not known
	// Metadata is where the metadata root ("BSJB") lies; 0: not known, then Err says why.
	Metadata mem.Addr
	Err      error
	// ID tells it from one that lies at the same place later.
	ID metadata.ID
	// Image is where the PE image begins, 0 if that is not known.
	Image mem.Addr
	// Path is the file that the image was loaded from as the target sees it; "" for one inside a single-file program
	// or in memory alone.
	Path string
}

// TypeKind is the form of a Type.
type TypeKind uint8

// The forms of types.
const (
	NoType       TypeKind = iota // not known: Err says why
	NamedType                    // class, struct, enum, interface, primitive: Module and Token
	ArrayType                    // Elem, Rank; of rank 1 it may still be one with bounds: MultiDim
	PointerType                  // Elem
	ByRefType                    // Elem
	FunctionType                 // function pointer
	TypeVariable                 // parameter of a generic type or method that is not instantiated: Token is its number
)

// Type is a type as the runtime has loaded it.
type Type struct {
	Kind   TypeKind
	Module Module // that defines it
	Token  uint32 // of the TypeDef, 0x02000000 | row
	Args   []Type // generic arguments, of enclosing types first
	Elem   *Type
	Rank   int
	// MultiDim says of an array that it is written with its rank, [*] or [,].
	MultiDim bool
	Err      error
}
