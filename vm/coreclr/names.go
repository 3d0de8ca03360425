package coreclr

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
)

// Frames implements resolve.SiteNamer.
func (r *Runtime) Frames(site unwind.Site) []profile.Frame {
	if site == 0 || int(site) >= len(r.sites.all) {
		return nil
	}
	e := r.sites.all[site]
	f := profile.Frame{Kind: profile.DotNet, Offset: e.offset}
	switch {
	case e.Code == StubCode:
		f.Func, f.Stub = e.Name, true
	case e.Class == DynamicMethod:
		f.Func = "dynamicClass." + e.Name
	case e.Desc == 0:
		f.Func = "[precompiled method]"
	default:
		f.Func = r.nameOf(e.Method)
	}
	return []profile.Frame{f}
}

// nameOf is the name of a method as metadata have it.
func (r *Runtime) nameOf(m *Method) string {
	t, err := metadata.Open(r.memory, m.Module.Metadata, r.budget)
	if err != nil || m.Token == 0 {
		return fmt.Sprintf("[method %#08x]", m.Token)
	}
	d, err := t.Method(m.Token & 0xffffff)
	if err != nil {
		return fmt.Sprintf("[method %#08x]", m.Token)
	}
	var b strings.Builder
	for i, p := range d.Path {
		if i > 0 {
			b.WriteByte('+')
		} else if p.Namespace != "" {
			b.WriteString(p.Namespace + ".")
		}
		b.WriteString(p.Name)
	}
	return b.String() + "." + d.Name
}

// typeName names the type of a MethodTable.
func (r *Runtime) typeName(table mem.Addr) string {
	t := r.typeOf(r.memory, table, maxTypeDepth)
	tables, err := metadata.Open(r.memory, t.Module.Metadata, r.budget)
	if err == nil {
		if path, err := tables.Path(t.Token & 0xffffff); err == nil && len(path) > 0 {
			return strings.TrimPrefix(path[0].Namespace+"."+path[len(path)-1].Name, ".")
		}
	}
	return "an object"
}
