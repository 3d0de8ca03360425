package coreclr

import (
	"cmp"
	"fmt"
	"hash/maphash"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/view"
)

const (
	methodTokens = 0x06000000 // table MethodDef, ECMA-335 II.22
	typeTokens   = 0x02000000 // TypeDef
	fieldTokens  = 0x04000000 // Field
	// maxDynamicName bounds the name of a dynamic method, bytes.
	maxDynamicName = 256
)

// methodOf finds out what c is, by v. An error says that nothing of it is known.
func (r *Runtime) methodOf(c *code, v *view.View) (*Method, error) {
	out := &Method{Desc: c.desc, Class: c.class, Code: c.kind, Start: c.start, Err: c.unnamed}
	switch {
	case c.kind == StubCode:
		out.Name = stubName(c.stub)
	case c.desc == 0:
	default:
		if err := r.readMethod(out, v); err != nil {
			return nil, fmt.Errorf("read its method: %w", err)
		}
	}
	out.origin = r.origin(out)
	return out, nil
}

// readMethod reads what the MethodDesc of m leads to.
func (r *Runtime) readMethod(m *Method, v *view.View) error {
	l, f := r.layout, v.Fields(m.Desc)
	index, remainder := f.Uint(l.methodIndex, 1), f.Uint(l.methodToken, 2)
	if m.Class == DynamicMethod {
		name := f.Addr(l.dynamicName)
		if f.Err != nil {
			return f.Err
		}
		var err error
		m.Name, _, err = v.Text(name, maxDynamicName)
		return err
	}
	chunk := v.Fields(m.Desc - mem.Addr(index*l.methodAlignment) - mem.Addr(l.chunkSize))
	tokens, table := chunk.Uint(l.chunkToken, 2), chunk.Addr(l.chunkTable)
	if err := cmp.Or(f.Err, chunk.Err); err != nil {
		return err
	}
	if rid := tokens&(1<<(24-l.tokenBits)-1)<<l.tokenBits | remainder&(1<<l.tokenBits-1); rid != 0 {
		m.Token = methodTokens | uint32(rid)
	}
	r.types = 0
	m.Type = r.typeOf(v, table, maxTypeDepth)
	m.Module = r.moduleOfTable(v, table)
	if m.Class == InstantiatedMethod {
		m.Args, m.ArgsErr = r.methodArgs(v, m.Desc)
	}
	return nil
}

// origin is a hash of all that tells m from other methods: addresses alone do not, as they are used again.
func (r *Runtime) origin(m *Method) uint64 {
	var h maphash.Hash
	h.SetSeed(r.codes.seed)
	known := m.fault() == nil
	maphash.WriteComparable(&h, struct {
		desc  mem.Addr
		token uint32
		class Class
		code  CodeKind
		name  string
		known bool
	}{m.Desc, m.Token, m.Class, m.Code, m.Name, known})
	writeModule(&h, &m.Module)
	writeType(&h, &m.Type)
	for i := range m.Args {
		writeType(&h, &m.Args[i])
	}
	return h.Sum64()
}

func writeModule(h *maphash.Hash, m *Module) {
	maphash.WriteComparable(h, struct {
		at, metadata mem.Addr
		id           metadata.ID
	}{m.Addr, m.Metadata, m.ID})
}

func writeType(h *maphash.Hash, t *Type) {
	maphash.WriteComparable(h, struct {
		kind             TypeKind
		token            uint32
		rank, args       int
		multi, err, elem bool
	}{t.Kind, t.Token, t.Rank, len(t.Args), t.MultiDim, t.Err != nil, t.Elem != nil})
	writeModule(h, &t.Module)
	if t.Elem != nil {
		writeType(h, t.Elem)
	}
	for i := range t.Args {
		writeType(h, &t.Args[i])
	}
}

// stubNames are kinds of stubs that lie between methods.
// Source: enum StubCodeBlockKind in src/coreclr/vm/codeman.h.
var stubNames = map[uint64]string{6: "virtual dispatch", 7: "virtual resolve", 8: "virtual look-up",
	9: "virtual call through a table"}

func stubName(kind uint64) string {
	if name, ok := stubNames[kind]; ok {
		return name
	}
	return "stub"
}
