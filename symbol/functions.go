package symbol

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/work"
)

// Function is where one function of a symbol table lies: [Start, End).
type Function struct {
	Start, End module.Vaddr
}

// Functions lists the functions of one symbol table, ".symtab" or ".dynsym", in order of address,
// one for each. Labels without type and size are no functions, and neither are the parts that
// a compiler placed apart (".cold"). Where the table gives no size, a function reaches to the next.
//
// It lists at most limit of them; the error then says that there are more, or that the table is cut.
func (t *Table) Functions(name string, limit int) ([]Function, error) {
	t.open()
	raw := t.symtab
	if name == ".dynsym" {
		raw = t.dynsym
	}
	if raw == nil {
		return nil, t.err
	}
	var out []Function
	err := module.Guard(t.m.Path, func() error {
		var err error
		out, err = raw.functions(limit, t.m.Budget())
		return err
	})
	return out, err
}

// functionCost is the steps of a [work.Budget] that one function takes: it is noted and sorted.
const functionCost = 100

func (t *rawTable) functions(limit int, b *work.Budget) (out []Function, err error) {
	err = t.err
	left := b.Purse()
	sized := map[module.Vaddr]bool{}
	var e entry
	for i, n := 0, t.count(); i < n && left.Spend(symbolCost); i++ {
		if !t.read(i, &e) || e.info&0xf == sttNotype && e.size == 0 || isPart(e.nameBytes()) {
			continue
		}
		if !left.Spend(int64(len(e.nameBytes()))/bytesAStep + functionCost) {
			return nil, fmt.Errorf("list %s: %w", t.label, b.Refusal())
		}
		if len(out) == limit {
			err = fmt.Errorf("list %s: more than %d functions", t.label, limit)
			break
		}
		if e.size != 0 {
			sized[vaddr(e.start)] = true
		}
		out = append(out, Function{vaddr(e.start), vaddr(e.end)})
	}
	if left.Spent() {
		return nil, fmt.Errorf("list %s: %w", t.label, b.Refusal())
	}
	slices.SortFunc(out, func(a, b Function) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	out = slices.CompactFunc(out, func(a, b Function) bool { return a.Start == b.Start })
	for i := range out {
		if !sized[out[i].Start] && i+1 < len(out) {
			out[i].End = min(out[i].End, out[i+1].Start)
		}
	}
	return out, err
}

// isPart tells the names that gcc and clang give to the cold part of a function.
func isPart(name []byte) bool {
	return bytes.HasSuffix(name, []byte(".cold")) || bytes.Contains(name, []byte(".cold."))
}

// Contents returns the bytes of a section of debug information, inflated if need be; nil if the
// file has none.
func (f DebugFile) Contents(name string) ([]byte, error) { return debugSection(f, name) }

// Open returns a reader of a section of debug information that inflates no more than is read, nil if the file has
// none, and what gives back the memory that this took.
func (f DebugFile) Open(name string) (r io.Reader, done func(), err error) {
	s, p, err := findDebug(f, name)
	if err == nil && p != nil {
		r, done, err = p.open(f.Budget)
	}
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("inflate %s of %q: %w", name, f.Path, err)
	case p != nil:
		return r, done, nil
	case len(s.Data) == 0:
		return nil, nil, nil
	}
	return f.Budget.Reader(bytes.NewReader(s.Data), 1), func() {}, nil
}
