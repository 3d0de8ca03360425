package vmstructs

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Flags are those of the command line, of which the value is one byte; -1 is a flag that the JVM does not have.
type Flags map[string]int

// maxFlags bounds the flags of a JVM: there are some 1,400.
const maxFlags = 1 << 13

// Flags reads the flags of those names. They do not change when the JVM has started.
func (t *Table) Flags(v *view.View, names ...string) (Flags, error) {
	out := Flags{}
	for _, n := range names {
		out[n] = -1
	}
	owner := "JVMFlag"
	list, ok := t.Lookup("flags", owner)
	if !ok {
		owner = "Flag" // JDK 8
		if list, ok = t.Lookup("flags", owner); !ok {
			return nil, fmt.Errorf("the JVM does not say where its flags are")
		}
	}
	count, ok := t.Lookup("numFlags", owner)
	name, ok2 := t.Lookup("_name", owner)
	addr, ok3 := t.Lookup("_addr", owner)
	size, ok4 := t.Size(owner)
	if !ok || !ok2 || !ok3 || !ok4 || size > maxStride {
		return nil, fmt.Errorf("the JVM does not say what a flag is")
	}
	base, err := v.Word(list.At)
	if err != nil {
		return nil, err
	}
	n, err := v.Word(count.At)
	if err != nil {
		return nil, err
	}
	if n > maxFlags {
		return nil, fmt.Errorf("the JVM has %d flags", n)
	}
	for i := range n {
		f := v.Fields(mem.Addr(base + i*uint64(size)))
		at, value := f.Addr(name.Offset), f.Addr(addr.Offset)
		if f.Err != nil {
			return nil, f.Err
		}
		if at == 0 || value == 0 {
			continue
		}
		text, _, err := v.Text(at, maxName)
		if err != nil {
			return nil, err
		}
		if _, wanted := out[text]; wanted {
			b, err := v.Uint(value, 1)
			if err != nil {
				return nil, err
			}
			out[text] = int(b)
		}
	}
	return out, nil
}
