package metadata

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// Bounds of the lists of classes.
const (
	maxLoaders = 1 << 16
	maxClasses = 1 << 20
)

// Find finds the classes that are named in found, with slashes, among those of all loaders, and puts where they are; 0
// stays for one that was not loaded. It looks at all of them, oldest loaders last, until it has all; it fails where one
// that it misses may be among those whose names it cannot read.
func (l *Layout) Find(v *view.View, found map[string]mem.Addr) error {
	if l.graph == 0 || !l.nextLoader.OK() || !l.loaderClasses.OK() || !l.nextClass.OK() {
		return errors.New("the JVM does not say where its classes are")
	}
	at, err := v.Word(l.graph)
	left, classes := len(found), maxClasses
	var unread error
	for i := 0; err == nil && at != 0 && left > 0; i++ {
		if i == maxLoaders {
			return fmt.Errorf("there are more than %d class loaders", maxLoaders)
		}
		f := v.Fields(mem.Addr(at))
		class := l.loaderClasses.Addr(&f)
		at, err = uint64(l.nextLoader.Of(&f)), f.Err
		for ; err == nil && class != 0 && left > 0; classes-- {
			if classes == 0 {
				return fmt.Errorf("there are more than %d classes", maxClasses)
			}
			name, e := l.ClassName(v, class)
			if e != nil && !errors.Is(e, errLongName) && unread == nil {
				unread = fmt.Errorf("a class has no name that can be read: %w", e)
			}
			if had, wanted := found[name]; e == nil && wanted && had == 0 {
				found[name] = class
				left--
			}
			f := v.Fields(class)
			class, err = l.nextClass.Addr(&f), f.Err
		}
	}
	if err == nil && left > 0 {
		return unread
	}
	return err
}

// Mirror is where the JVM has the reference to the object of java.lang.Class of the class at klass, which has its
// static fields.
func (l *Layout) Mirror(v *view.View, klass mem.Addr) (mem.Addr, error) {
	if !l.mirror.OK() {
		return 0, errors.New("the JVM does not say where static fields are")
	}
	f := v.Fields(klass)
	at := l.mirror.Addr(&f)
	return at, f.Err
}

// InstanceSize is how many bytes the objects of the class at klass have; of those that differ, what all have.
// Source: Klass::_layout_helper in klass.hpp: the lowest bit of a size says that it is no plain object.
func (l *Layout) InstanceSize(v *view.View, klass mem.Addr) (int, error) {
	f := v.Fields(klass)
	n := l.size.Of(&f)
	switch {
	case f.Err != nil:
		return 0, f.Err
	case n <= 0:
		return 0, errors.New("the class has no plain objects")
	}
	return int(n) &^ (wordSize - 1), nil
}
