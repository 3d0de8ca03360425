package metadata

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/unsigned5"
	"github.com/fpstack/fpstack/vm/view"
)

// ErrNoField says that a class has no field of a name.
var ErrNoField = errors.New("its class has no such field")

// Bounds of a class.
const (
	maxSupers = 64
	maxFields = 1 << 14
	slots     = 6 // of two bytes, a field up to JDK 20
)

// ClassName is the name of the class at klass, with slashes.
func (l *Layout) ClassName(v *view.View, klass mem.Addr) (string, error) {
	if klass == 0 || klass%wordSize != 0 {
		return "", ErrNoMethod
	}
	f := v.Fields(klass)
	name := l.klassName.Addr(&f)
	if f.Err != nil {
		return "", f.Err
	}
	return l.Symbol(v, name)
}

// Super is the class that klass extends, 0 for none.
func (l *Layout) Super(v *view.View, klass mem.Addr) (mem.Addr, error) {
	f := v.Fields(klass)
	s := l.super.Addr(&f)
	return s, f.Err
}

// InitialiserAt is where Initialiser reads of the class at klass, and how much, bytes: 0 if nothing is.
func (l *Layout) InitialiserAt(klass mem.Addr) (mem.Addr, int) {
	if !l.initThread.OK() || !l.initState.OK() {
		return klass, 0
	}
	first := min(l.initThread.Offset, l.initState.Offset)
	return klass + mem.Addr(first), int(max(l.initThread.End(), l.initState.End()) - first)
}

// Initialiser is the JavaThread that initialises the class at klass now, 0 for none.
func (l *Layout) Initialiser(v *view.View, klass mem.Addr) (mem.Addr, error) {
	if !l.initThread.OK() || !l.initState.OK() {
		return 0, nil
	}
	f := v.Fields(klass)
	const stateBytes = 1
	state, t := f.Uint(l.initState.Offset, stateBytes), l.initThread.Addr(&f)
	if f.Err != nil || int64(state) != l.initialising { // who did it may stand there for ever
		return 0, f.Err
	}
	return t, nil
}

// Field is where objects of the class at klass have the field of that name, which it or one that it extends declares.
func (l *Layout) Field(v *view.View, klass mem.Addr, name string) (int64, error) {
	for range maxSupers {
		if klass == 0 {
			return 0, ErrNoField
		}
		offset, err := l.declared(v, klass, name)
		if !errors.Is(err, ErrNoField) {
			return offset, err
		}
		if klass, err = l.Super(v, klass); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("its class extends more than %d others", maxSupers)
}

// declared is Field of the class alone.
func (l *Layout) declared(v *view.View, klass mem.Addr, name string) (int64, error) {
	f := v.Fields(klass)
	pool := l.klassConstants.Addr(&f)
	list, width := l.fields, 2
	if !list.OK() {
		list, width = l.fieldStream, 1
	}
	if !list.OK() {
		return 0, errors.New("the JVM does not say what fields a class has")
	}
	at := list.Addr(&f)
	if f.Err != nil {
		return 0, f.Err
	}
	array := v.Fields(at)
	n := array.Uint(0, 4) // Array<T>::_length
	if array.Err != nil {
		return 0, array.Err
	}
	if n > maxFields*slots {
		return 0, fmt.Errorf("its class has a list of fields of %d, at most %d are read", n, maxFields*slots)
	}
	const header = 4
	data, ok := v.Bytes(at+header, int(n)*width)
	if !ok {
		return 0, v.Fault()
	}
	data = append([]byte(nil), data...)
	var unread error // of a field that may be the one
	find := func(index int64) bool {
		constants := v.Fields(pool)
		symbol, err := l.entry(v, &constants, index)
		var text string
		if err == nil {
			text, err = l.Symbol(v, symbol)
		}
		if err != nil && !errors.Is(err, errLongName) {
			unread = err
		}
		return err == nil && text == name
	}
	in := func() (int64, error) { return l.bits.fieldIn(data, l.Coding, find) }
	if width == 2 {
		in = func() (int64, error) { return fieldIn(data, int(l.fieldCount.Of(&f)), find) }
	}
	offset, err := in()
	if errors.Is(err, ErrNoField) && unread != nil {
		return 0, fmt.Errorf("a field has no name that can be read: %w", unread)
	}
	return offset, err
}

// fieldIn finds a field in a list of JDK 8 to 20, of which the first count are of Java.
// Source: src/hotspot/share/oops/fieldInfo.hpp of these.
func fieldIn(data []byte, count int, is func(nameIndex int64) bool) (int64, error) {
	for i := range count {
		if (i+1)*2*slots > len(data) {
			return 0, fmt.Errorf("its class has %d fields in a list of %d", count, len(data)/(2*slots))
		}
		f := data[i*2*slots:]
		word := func(k int) int64 { return int64(binary.LittleEndian.Uint16(f[2*k:])) }
		if is(word(1)) {
			return (word(5)<<16 | word(4)) >> 2, nil
		}
	}
	return 0, ErrNoField
}

// fieldIn finds a field in a stream of JDK 21 and later.
// Source: src/hotspot/share/oops/fieldInfo.inline.hpp, FieldInfoReader::read_field_info.
func (b *fieldBits) fieldIn(data []byte, x unsigned5.Coding, is func(nameIndex int64) bool) (int64, error) {
	r := unsigned5.Reader{Data: data, Coding: x}
	count := r.Next()
	r.Next() // those of the JVM's own
	for i := uint32(0); i < count && r.Err == nil; i++ {
		name := int64(r.Next())
		r.Next() // signature
		offset := int64(r.Next())
		r.Next() // access
		flags := r.Next()
		for _, bit := range []int64{b.initialized, b.generic, b.flat, b.nullMarker, b.contended} {
			if bit >= 0 && bit < 32 && flags>>bit&1 != 0 {
				r.Next()
			}
		}
		if r.Err == nil && is(name) {
			return offset, nil
		}
	}
	if r.Err != nil {
		return 0, r.Err
	}
	return 0, ErrNoField
}
