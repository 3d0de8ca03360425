package hotspot

import "github.com/fpstack/fpstack/mem"

// lockClass is what is known of the class of objects that threads wait for.
type lockClass struct {
	name  string // "" if it is not known
	owner int64  // where such an object has the thread that owns it
	err   error  // why that is not known: a Semaphore, a Condition and a queue have none
}

// maxLockClasses bounds those that are kept.
const maxLockClasses = 1 << 10

// classAt is the class at an address. It is read once in a graph: a hundred thousand threads may wait for objects of
// one class.
func (g *graph) classAt(class mem.Addr) lockClass {
	k, ok := g.classes[class]
	if ok {
		return k
	}
	if name, err := g.j.meta.ClassName(g.r.lasting(), class); err == nil {
		k.name = className(dotted(name))
	}
	k.owner, k.err = g.j.meta.Field(g.r.lasting(), class, ownerField)
	if g.classes == nil {
		g.classes = map[mem.Addr]lockClass{}
	}
	if len(g.classes) < maxLockClasses {
		g.classes[class] = k
	}
	return k
}
