package hotspot

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// virtualLayout is where virtual threads are found, and where their objects have what is read of them.
type virtualLayout struct {
	sets     []mem.Addr // fields of Java that lead to sets of threads, static: where the mirror's handle is
	offsets  []int64    // of each of sets, in the mirror
	registry int        // which of sets has containers of threads instead, -1 for none

	containers map[mem.Addr]int64 // classes of containers of threads, and where they have the set of them

	setMap, mapTable          int64
	nodeKey, nodeNext         int64
	nodeBytes                 int
	referent                  int64
	thread                    mem.Addr // the class
	threadBytes               int
	cont, state, name, id     int64
	tail                      int64
	chunkParent, chunkSize    int64
	chunkSP, chunkBottom      int64
	bottomIsArguments         bool
	chunkStack                int64
	contBytes, chunkHeadBytes int
}

// firstVirtual is the JDK from which on there are virtual threads that are not experimental.
const firstVirtual = 21

// Names of classes of the JDK.
const (
	containersClass = "jdk/internal/vm/ThreadContainers"
	trackingClass   = "jdk/internal/vm/ThreadContainers$RootContainer$TrackingRootContainer"
	trackingClass21 = "jdk/internal/vm/ThreadContainers$TrackingRootContainer"
	virtualClass    = "java/lang/VirtualThread"
	contClass       = "jdk/internal/vm/Continuation"
	chunkClass      = "jdk/internal/vm/StackChunk"
	mapClass        = "java/util/concurrent/ConcurrentHashMap"
	nodeClass       = "java/util/concurrent/ConcurrentHashMap$Node"
	setClass        = "java/util/concurrent/ConcurrentHashMap$KeySetView"
	referenceClass  = "java/lang/ref/Reference"
	executorClass   = "java/util/concurrent/ThreadPerTaskExecutor"
	sharedClass     = "jdk/internal/vm/SharedThreadContainer"
)

var errNoVirtual = errors.New("it has started no virtual thread")

// readVirtual finds the layout; errNoVirtual says that there are none.
func (r *Runtime) readVirtual(v *view.View, j *jvm) (*virtualLayout, error) {
	classes := map[string]mem.Addr{}
	for _, n := range []string{containersClass, trackingClass, trackingClass21, virtualClass, contClass, chunkClass,
		mapClass, nodeClass, setClass, referenceClass, executorClass, sharedClass} {
		classes[n] = 0
	}
	if err := j.meta.Find(v, classes); err != nil {
		return nil, err
	}
	if classes[virtualClass] == 0 || classes[containersClass] == 0 || classes[chunkClass] == 0 {
		return nil, errNoVirtual
	}
	l := &virtualLayout{registry: -1, thread: classes[virtualClass], containers: map[mem.Addr]int64{}}
	var missing error
	field := func(class, name string) int64 {
		at, err := j.meta.Field(v, classes[class], name)
		if err != nil && missing == nil {
			missing = fmt.Errorf("%s.%s: %w", dotted(class), name, err)
		}
		return at
	}
	size := func(class string) int {
		n, err := j.meta.InstanceSize(v, classes[class])
		if err != nil && missing == nil {
			missing = err
		}
		return n
	}
	l.setMap, l.mapTable = field(setClass, "map"), field(mapClass, "table")
	l.nodeKey, l.nodeNext, l.nodeBytes = field(nodeClass, "key"), field(nodeClass, "next"), size(nodeClass)
	l.referent = field(referenceClass, "referent")
	l.cont, l.state, l.threadBytes = field(virtualClass, "cont"), field(virtualClass, "state"), size(virtualClass)
	l.name, l.id = field(virtualClass, "name"), field(virtualClass, "tid")
	l.tail, l.contBytes = field(contClass, "tail"), size(contClass)
	l.chunkParent, l.chunkSize = field(chunkClass, "parent"), field(chunkClass, "size")
	l.chunkSP = field(chunkClass, "sp")
	l.chunkHeadBytes = size(chunkClass)
	l.chunkStack = int64(l.chunkHeadBytes)
	if at, err := j.meta.Field(v, classes[chunkClass], "bottom"); err == nil {
		l.chunkBottom = at
	} else {
		l.chunkBottom, l.bottomIsArguments = field(chunkClass, "argsize"), true
	}
	for _, s := range []struct{ class, field string }{{trackingClass, "VTHREADS"}, {trackingClass, "THREADS"},
		{trackingClass21, "THREADS"}, {containersClass, "CONTAINER_REGISTRY"}} {
		at, err := j.meta.Field(v, classes[s.class], s.field)
		mirror, err2 := j.meta.Mirror(v, classes[s.class])
		if err != nil || err2 != nil || mirror == 0 {
			continue
		}
		if s.class == containersClass {
			l.registry = len(l.sets)
		}
		l.sets, l.offsets = append(l.sets, mirror), append(l.offsets, at)
	}
	for class, name := range map[string]string{executorClass: "threads", sharedClass: "virtualThreads"} {
		if at, err := j.meta.Field(v, classes[class], name); err == nil && classes[class] != 0 {
			l.containers[classes[class]] = at
		}
	}
	if missing == nil && len(l.sets) == 0 {
		missing = errors.New("the JDK does not say where they are listed")
	}
	const most = 1 << 12
	if l.threadBytes > most || l.nodeBytes > most || l.contBytes > most || l.chunkHeadBytes > most {
		missing = errors.New("the JDK says that their objects are large")
	}
	return l, missing
}
