package metadata

import (
	"cmp"
	"sort"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/unsigned5"
	"github.com/fpstack/fpstack/vm/view"
)

// Key tells a method from others, also from those that lie in the same place at other times.
type Key struct{ Method, ConstMethod, Pool, Holder, Class, Name mem.Addr }

// Method is a method of Java.
type Method struct {
	Key
	Class, Name, Signature string // "java.lang.Thread", "run", "()V"
	File                   string // "Thread.java"; "" if its class does not say
	// Code is where its bytecodes are; empty for a native method.
	Code  mem.Span[mem.Addr]
	lines []line
}

// line says which line the bytecodes from bci on are of.
type line struct{ bci, number int32 }

// Bounds of names, and of a table of lines, bytes.
const (
	maxSymbol = 4 << 10
	maxLines  = 256 << 10
	maxWords  = 1 << 20 // of a ConstMethod
	maxPool   = 1 << 16
)

// constMethodOf reads what Key takes of a method, and the fields of its ConstMethod, each object by one read.
func (l *Layout) constMethodOf(v *view.View, at mem.Addr) (Key, view.Fields, error) {
	k := Key{Method: at}
	if at == 0 || at%wordSize != 0 {
		return k, view.Fields{}, ErrNoMethod
	}
	m := v.Fields(at)
	k.ConstMethod = l.constMethod.Addr(&m)
	c := view.Fields{View: v.Near(k.ConstMethod, int(l.constSize)), At: k.ConstMethod, Err: m.Err}
	k.Pool = l.constants.Addr(&c)
	pool := view.Fields{View: v.Near(k.Pool, int(l.poolSize)), At: k.Pool, Err: c.Err}
	k.Holder = l.holder.Addr(&pool)
	holder := view.Fields{View: v, At: k.Holder, Err: pool.Err}
	k.Class = l.klassName.Addr(&holder)
	if holder.Err == nil {
		k.Name, holder.Err = l.entry(v, &pool, l.nameIndex.Of(&c))
	}
	if k.ConstMethod%wordSize != 0 || k.Pool%wordSize != 0 || k.Holder%wordSize != 0 {
		return k, c, ErrNoMethod
	}
	return k, c, holder.Err
}

// ConstMethod is the address of the ConstMethod of the method at an address, by [Layout.MethodHead] bytes there.
func (l *Layout) ConstMethod(v *view.View, at mem.Addr) (mem.Addr, error) {
	m := v.Fields(at)
	return l.constMethod.Addr(&m), m.Err
}

// Identify reads what tells the method at an address from others.
func (l *Layout) Identify(v *view.View, at mem.Addr) (Key, error) {
	k, _, err := l.constMethodOf(v, at)
	return k, err
}

// Method reads the method at an address.
func (l *Layout) Method(v *view.View, at mem.Addr) (*Method, error) {
	key, c, err := l.constMethodOf(v, at)
	if err != nil {
		return nil, err
	}
	m := &Method{Key: key}
	size, words, flags := l.codeSize.Of(&c), l.words.Of(&c), l.flags.Of(&c)
	m.Code.Start = key.ConstMethod + mem.Addr(l.constSize)
	m.Code.End = m.Code.Start + mem.Addr(size)
	if c.Err != nil || words <= 0 || words > maxWords || l.constSize+size > words*wordSize {
		return nil, cmp.Or(c.Err, ErrNoMethod)
	}
	class, err := l.Symbol(v, key.Class)
	if err != nil {
		return nil, err
	}
	m.Class = strings.ReplaceAll(class, "/", ".")
	if m.Name, err = l.Symbol(v, key.Name); err != nil {
		return nil, err
	}
	pool := v.Fields(key.Pool)
	signature, err := l.entry(v, &pool, l.signature.Of(&c))
	if err != nil {
		return nil, err
	}
	if m.Signature, err = l.Symbol(v, signature); err != nil {
		return nil, err
	}
	if m.Class == "" || m.Name == "" || !strings.HasPrefix(m.Signature, "(") {
		return nil, ErrNoMethod
	}
	m.File = l.file(v, key)
	if flags&l.hasLines != 0 {
		m.lines = l.readLines(v, m.Code.End, key.ConstMethod+mem.Addr(words)*wordSize)
	}
	return m, v.Refused()
}

// entry is the symbol that entry i of a pool of constants is, of which pool has the fields.
func (l *Layout) entry(v *view.View, pool *view.Fields, i int64) (mem.Addr, error) {
	if n := l.poolLength.Of(pool); pool.Err == nil && (i <= 0 || i >= n || n > maxPool) {
		return 0, ErrNoMethod
	}
	f := view.Fields{View: v, At: pool.At, Err: pool.Err}
	at := f.Addr(l.poolSize+i*wordSize) &^ 1 // the bit says that it is resolved
	return at, f.Err
}

// Symbol is the text of a symbol.
func (l *Layout) Symbol(v *view.View, at mem.Addr) (string, error) {
	if at == 0 {
		return "", ErrNoMethod
	}
	f := v.Fields(at)
	n := uint64(l.symbolLength.Of(&f)) >> l.symbolShift
	if f.Err != nil {
		return "", f.Err
	}
	if n > maxSymbol {
		return "", errLongName
	}
	b, ok := v.Bytes(at+mem.Addr(l.symbolBody.Offset), int(n))
	if !ok {
		return "", v.Fault()
	}
	return string(b), nil
}

// file is the file that a class is from, "" if that is not known.
func (l *Layout) file(v *view.View, k Key) string {
	at, place := k.Pool, l.poolFile
	if !place.OK() {
		at, place = k.Holder, l.klassFile
	}
	f := v.Fields(at)
	i := place.Of(&f)
	if f.Err != nil || i == 0 {
		return ""
	}
	pool := v.Fields(k.Pool)
	symbol, err := l.entry(v, &pool, i)
	if err != nil {
		return ""
	}
	name, _ := l.Symbol(v, symbol)
	return name
}

// readLines reads the table of lines between at and end.
func (l *Layout) readLines(v *view.View, at, end mem.Addr) []line {
	if end <= at {
		return nil
	}
	return parseLines(v.UpTo(at, int(min(end-at, maxLines))), l.Coding)
}

// parseLines reads a compressed table of lines: a byte for both differences where these are small, or an escape.
// Source: src/hotspot/share/code/compressedStream.cpp, CompressedLineNumberReadStream.
func parseLines(data []byte, x unsigned5.Coding) []line {
	const escape = 0xff
	var all []line
	now := line{}
	for len(data) > 0 && data[0] != 0 {
		if b := data[0]; b != escape {
			now.bci += int32(b >> 3)
			now.number += int32(b & 7)
			data = data[1:]
		} else {
			r := unsigned5.Reader{Data: data[1:], Coding: x}
			now.bci += r.Signed()
			now.number += r.Signed()
			if r.Err != nil {
				return nil // half a table has wrong lines
			}
			data = r.Data
		}
		all = append(all, now)
	}
	if len(data) == 0 {
		return nil // it has no end
	}
	sort.SliceStable(all, func(i, k int) bool { return all[i].bci < all[k].bci })
	return all
}

// Line is the line of the bytecode at bci, 0 if it is not known. A bci before the first is the entry.
func (m *Method) Line(bci int) int {
	i := sort.Search(len(m.lines), func(i int) bool { return int(m.lines[i].bci) > max(bci, 0) })
	if i == 0 {
		return 0
	}
	return int(m.lines[i-1].number)
}

// Native reports whether m has no bytecodes.
func (m *Method) Native() bool { return m.Code.Start == m.Code.End }

// Size is about how many bytes m takes.
func (m *Method) Size() int {
	return 256 + len(m.Class) + len(m.Name) + len(m.Signature) + len(m.File) + 8*len(m.lines)
}

// MethodHead is how much of a method is to be copied so that what it leads to can be told, bytes.
func (l *Layout) MethodHead() int { return int(l.constMethod.End()) }
