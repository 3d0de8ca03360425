package metadata

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// maxNesting bounds how deep types lie in one another.
const maxNesting = 16

// maxParameters bounds the generic parameters of one type or method.
const maxParameters = 1 << 8

// Type is one type.
type Type struct {
	RID       uint32 // row, from 1
	Namespace string // "" for nested types
	Name      string // as the compiler gave it, with `1 behind generic ones
	// Parameters are the names of the generic parameters; of a nested type those of the types around it come first.
	Parameters []string
}

// Method is one method.
type Method struct {
	RID        uint32 // row, from 1
	Name       string
	Special    bool     // an accessor, an operator or a constructor
	Parameters []string // names of its own generic parameters
	// Path is the type that declares it, last, and those around that, the outermost first.
	Path []Type
}

// Method reads the method with the row rid, the lower 24 bits of its token.
func (t *Tables) Method(rid uint32) (*Method, error) {
	r, err := t.row(methodDefs, rid)
	if err != nil {
		return nil, err
	}
	const specialName = 0x0800 // ECMA-335 II.23.1.10
	m := &Method{RID: rid, Special: r[2]&specialName != 0}
	if m.Name, err = t.name(r[3]); err != nil {
		return nil, err
	}
	const ofMethod = 1
	if m.Parameters, err = t.parameters(rid<<1 | ofMethod); err != nil {
		return nil, err
	}
	owner, err := t.owner(rid)
	if err != nil {
		return nil, err
	}
	m.Path, err = t.Path(owner)
	return m, err
}

// owner is the type that declares a method: the last one whose list of methods begins at it or before.
func (t *Tables) owner(method uint32) (uint32, error) {
	if n := t.tables[methodPtrs].rows; n > 0 { // lists lead to rows that lead to methods
		at, err := t.pointerTo(method, n)
		if err != nil {
			return 0, err
		}
		method = at
	}
	const methodList = 5
	next, err := t.firstNotBelow(typeDefs, methodList, method+1)
	if err != nil || next == 1 {
		return 0, orFormat(err, "no type has method %d", method)
	}
	return next - 1, nil
}

// pointerTo is the row of table methodPtrs that leads to a method. Only modules that were edited have it.
func (t *Tables) pointerTo(method, rows uint32) (uint32, error) {
	for rid := uint32(1); rid <= rows; rid++ {
		switch r, err := t.row(methodPtrs, rid); {
		case err != nil:
			return 0, err
		case r[0] == method:
			return rid, nil
		}
	}
	return 0, orFormat(nil, "nothing leads to method %d", method)
}

func orFormat(err error, format string, a ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, a...)...)
}

// Path reads the type with the row rid and those around it, the outermost first.
func (t *Tables) Path(rid uint32) ([]Type, error) {
	var path []Type
	for rid != 0 {
		if len(path) >= maxNesting {
			return nil, orFormat(nil, "more than %d types lie in one another", maxNesting)
		}
		one, err := t.typeAt(rid)
		if err != nil {
			return nil, err
		}
		path = append([]Type{one}, path...)
		inside := uint32(0)
		err = t.matching(nestedClasses, 0, rid, func(r row) bool {
			inside = r[1]
			return false
		})
		if err != nil {
			return nil, err
		}
		rid = inside
	}
	return path, nil
}

func (t *Tables) typeAt(rid uint32) (Type, error) {
	r, err := t.row(typeDefs, rid)
	if err != nil {
		return Type{}, err
	}
	out := Type{RID: rid}
	if out.Name, err = t.name(r[1]); err != nil {
		return Type{}, err
	}
	if out.Namespace, err = t.name(r[2]); err != nil {
		return Type{}, err
	}
	out.Parameters, err = t.parameters(rid << 1)
	return out, err
}

// parameters are the names of the generic parameters of owner, a coded index.
func (t *Tables) parameters(owner uint32) ([]string, error) {
	var out []string
	var failed error
	err := t.matching(genericParams, 2, owner, func(r row) bool {
		var name string
		if len(out) == maxParameters {
			failed = orFormat(nil, "more than %d generic parameters", maxParameters)
			return false
		}
		name, failed = t.name(r[3])
		out = append(out, name)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	return out, err
}

// Assembly is the name of the assembly whose module this is, "" for a module without one of its own.
func (t *Tables) Assembly() (string, error) {
	if t.tables[assemblies].rows == 0 {
		return "", nil
	}
	r, err := t.row(assemblies, 1)
	if err != nil {
		return "", err
	}
	return t.name(r[7])
}

// maxInterfaces bounds the interfaces of one type that are looked at.
const maxInterfaces = 32

// Implements reports whether the type with the row rid says that it implements an interface whose name, without
// namespace, begins with one of prefixes; which is its index, -1 for none.
func (t *Tables) Implements(rid uint32, prefixes ...string) (which int, err error) {
	which = -1
	var failed error
	left := maxInterfaces
	err = t.matching(interfaceImpls, 0, rid, func(r row) bool {
		if left == 0 {
			failed = orFormat(nil, "more than %d interfaces", maxInterfaces)
			return false
		}
		var name string
		name, failed = t.refName(r[1])
		for i, p := range prefixes {
			if strings.HasPrefix(name, p) && (which < 0 || i < which) {
				which = i
			}
		}
		left--
		return failed == nil && which != 0
	})
	if err == nil {
		err = failed
	}
	return which, err
}

// refName is the name, without namespace, of the type that the coded index v means; "" for one that is no plain class.
func (t *Tables) refName(v uint32) (string, error) {
	for range maxNesting {
		n, rid := decoded(typeDefOrRef, v)
		if n == unused || rid == 0 {
			return "", nil
		}
		r, err := t.row(n, rid)
		if err != nil {
			return "", err
		}
		if n != typeSpecs {
			return t.name(r[1])
		}
		blob, err := t.Blob(r[0])
		if err != nil {
			return "", err
		}
		const genericInstance, class = 0x15, 0x12 // ECMA-335 II.23.2.12
		if len(blob) < 3 || blob[0] != genericInstance || blob[1] != class {
			return "", nil
		}
		v, _, _ = Compressed(blob[2:])
	}
	return "", orFormat(nil, "a type refers to itself")
}

// MethodLines are the references of a portable PDB to what it says about a method: the row of its file, 0 where its
// lines say that, and the blob of its lines, 0 for none.
func (t *Tables) MethodLines(rid uint32) (document, blob uint32, err error) {
	r, err := t.row(methodDebugs, rid)
	return r[0], r[1], err
}

// Document is the reference of a portable PDB to the blob of the name of a source file.
func (t *Tables) Document(rid uint32) (blob uint32, err error) {
	r, err := t.row(documents, rid)
	return r[0], err
}

// Unchanged reports whether the module is still the one whose headers were read, by v, which must keep nothing: a
// module that was unloaded makes room for another. An error says that it is not known, or that the module is gone.
func (t *Tables) Unchanged(v *view.View) (bool, error) {
	id, err := t.readID(v)
	return err == nil && id == t.id, err
}

// readID reads the id of the module.
func (t *Tables) readID(v *view.View) (id ID, err error) {
	const idColumn = 2
	if t.tables[modules].rows == 0 {
		return id, nil
	}
	r, err := t.rowOf(v, modules, 1)
	if err != nil || r[idColumn] == 0 {
		return id, err
	}
	offset := uint64(r[idColumn]-1) * uint64(len(id))
	if offset+uint64(len(id)) > uint64(t.guids.size) {
		return id, orFormat(nil, "the id of the module is at %#x of %#x bytes", offset, t.guids.size)
	}
	_, err = v.ReadMem(id[:], t.guids.at+mem.Addr(offset))
	return id, err
}
