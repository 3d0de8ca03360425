package coreclr

import (
	"cmp"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/debuginfo"
	"github.com/fpstack/fpstack/vm/view"
)

// ilOffset sets where in the IL of m its NativeOffset belongs, by the debug information of c.
func (r *Runtime) ilOffset(m *Method, c *code) {
	if m.Token == 0 || c.class == DynamicMethod {
		return
	}
	at, form, err := r.debugOf(c)
	if at == 0 && err == nil {
		return
	}
	var bounds []debuginfo.Bound
	if err == nil {
		bounds, err = readBounds(r.viewOf(c), at, form)
	}
	if err != nil {
		m.ILErr = fmt.Errorf("read debug information: %w", err)
		return
	}
	m.IL, m.HasIL = debuginfo.At(bounds, m.NativeOffset)
}

// debugOf is where the debug information of c is, 0 for none, and its form.
func (r *Runtime) debugOf(c *code) (mem.Addr, debuginfo.Form, error) {
	switch {
	case c.kind == R2RCode:
		return r.precompiledDebug(c)
	case c.debug != 0 && r.layout.noBounds:
		return 0, debuginfo.Form{}, fmt.Errorf("its form is not known of version %v", r.o.version)
	case r.layout.packedBounds:
		return c.debug, debuginfo.Form{Encoding: debuginfo.Packed, Saved: r.layout.patchpointSaved}, nil
	}
	return c.debug, debuginfo.Form{Encoding: debuginfo.Nibbles, Saved: r.layout.patchpointSaved}, nil
}

// readBounds reads the debug information at a.
func readBounds(v *view.View, a mem.Addr, form debuginfo.Form) ([]debuginfo.Bound, error) {
	// What comes before the bounds is short mostly, and may lie at the end of what can be read.
	var size int
	var err error
	for n := leastHead; n <= maxBefore; n *= 2 {
		head, ok := v.Bytes(a, n)
		if !ok {
			return nil, cmp.Or(err, v.Fault())
		}
		if size, err = debuginfo.Size(head, form); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	b, ok := v.Bytes(a, size)
	if !ok {
		return nil, v.Fault()
	}
	return debuginfo.Parse(b, form)
}

// leastHead is what debug information has at least, bytes: its head and the code that it is for behind.
const leastHead = 4

// maxBefore bounds what comes before the bounds: places to switch to optimized code, and what profilers get.
const maxBefore = 16 << 10

// packedSince is the version of the form ReadyToRun whose debug information is packed, and latest the last that is
// known. Source: READYTORUN_MAJOR_VERSION in src/coreclr/inc/readytorun.h of dotnet/runtime.
const (
	packedSince = 16
	latest      = 16
)

// precompiledDebug is where the debug information of a precompiled method is, in its image.
func (r *Runtime) precompiledDebug(c *code) (mem.Addr, debuginfo.Form, error) {
	form := debuginfo.Form{Bare: true}
	if c.desc == 0 {
		return 0, form, nil
	}
	im := r.imageOf(&c.section)
	switch {
	case im.err != nil:
		return 0, form, im.err
	case im.header.Major > latest:
		return 0, form, fmt.Errorf("its form is not known of ReadyToRun %d.%d", im.header.Major, im.header.Minor)
	case im.header.Major >= packedSince:
		form.Encoding = debuginfo.Packed
	}
	at, ok, err := im.header.Debug(c.entry)
	if err != nil || !ok {
		return 0, form, err
	}
	return at, form, nil
}
