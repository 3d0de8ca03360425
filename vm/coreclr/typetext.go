package coreclr

import (
	"strings"

	"github.com/fpstack/fpstack/vm/coreclr/csharp"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
)

// notKnown stands for a type that could not be read.
var notKnown = csharp.Text{Shown: "?", Raw: "?"}

// text is the name of a type as it stands in arguments.
func (n *namer) text(t *Type) csharp.Text {
	switch t.Kind {
	case NamedType:
		return n.namedType(t)
	case ArrayType:
		return n.array(t)
	case PointerType, ByRefType:
		if t.Elem == nil {
			return notKnown
		}
		behind := "*"
		if t.Kind == ByRefType {
			behind = "&"
		}
		e := n.text(t.Elem)
		return csharp.Text{Shown: e.Shown + behind, Raw: e.Raw + behind}
	case FunctionType:
		return csharp.Text{Shown: "delegate*", Raw: "(fnptr)"}
	}
	return notKnown
}

// namedType is the name of a class, struct or interface.
func (n *namer) namedType(t *Type) csharp.Text {
	a := n.assembly(&t.Module)
	rid := t.Token & rowMask
	if a.err == nil && rid == 0 {
		n.fail(errManyTypes)
		return notKnown
	}
	if a.err != nil {
		n.fail(a.err)
		return notKnown
	}
	key := typeKey{a.number, rid}
	types, ok := n.types.Get(key)
	if !ok {
		var err error
		if types, err = a.tables.Path(rid); err == nil {
			err = n.gone(a)
		}
		if err != nil {
			n.fail(err)
			return notKnown
		}
		n.types.Keep(key, types, sizeOf(types))
	}
	p := n.path(types, t.Args)
	text := p.Argument()
	return csharp.Text{Shown: cut(text.Shown), Raw: cut(text.Raw)}
}

// sizeOf is how many bytes the names of a path take.
func sizeOf(types []metadata.Type) int {
	const keptCost = 32 // of a text
	size := 0
	for i := range types {
		size += len(types[i].Name) + len(types[i].Namespace)
		for _, p := range types[i].Parameters {
			size += len(p) + keptCost
		}
	}
	return size
}

// array is the name of an array. Of arrays of arrays C# writes the outermost first, the runtime last.
func (n *namer) array(t *Type) csharp.Text {
	var shown strings.Builder
	raw := ""
	for ; t != nil && t.Kind == ArrayType; t = t.Elem { // ends: types are read to a depth
		dimensions := strings.Repeat(",", max(t.Rank-1, 0))
		if t.MultiDim && t.Rank == 1 {
			dimensions = "*"
		}
		shown.WriteString("[" + dimensions + "]")
		raw = "[" + dimensions + "]" + raw
	}
	if t == nil {
		return notKnown
	}
	e := n.text(t)
	return csharp.Text{Shown: e.Shown + shown.String(), Raw: e.Raw + raw}
}
