package waits

import "github.com/fpstack/fpstack/profile"

// Kind is what a thread waits for: the sort that rules go by, and the noun that a person reads.
type Kind struct {
	Sort profile.WaitSort
	Noun string
}

// holds reports whether somebody holds what is waited for, until it gives that back by itself.
func (k Kind) holds() bool {
	return k.Sort == profile.SortLock || k.Sort == profile.SortFileLock || k.Sort == profile.SortNothing
}

// The kinds of what threads wait for in a runtime, besides its locks: of a [Lock].
var (
	Safepoint      = Kind{profile.SortSafepoint, "safepoint"}              // the owner has not come to it yet
	Operation      = Kind{profile.SortSafepoint, "operation of a runtime"} // the owner runs it, at a safepoint
	Initialisation = Kind{profile.SortLock, "initialisation"}              // the owner runs it
	Result         = Kind{profile.SortCondition, "result"}                 // the owner computes it
	Unbegun        = Kind{profile.SortUnbegun, "result of work not begun"}
	Notify         = Kind{profile.SortCondition, "notify"}
	Happening      = Kind{profile.SortCondition, "event"}
	Item           = Kind{profile.SortCondition, "item of a queue"}
	Room           = Kind{profile.SortCondition, "room in a queue"}
	Barrier        = Kind{profile.SortBarrier, "barrier of a language"}
	Semaphore      = Kind{profile.SortSemaphore, "semaphore of a language"}
)

// owned is how what a thread waits for and its owner are joined in a sentence: what comes before the owner, and after.
func (k Kind) owned() (before, after string) {
	switch k {
	case Safepoint:
		return ", to which ", " has not come"
	case Operation, Initialisation:
		return ", which ", " runs"
	case Result:
		return ", which ", " computes"
	}
	return " held by ", ""
}

// The kinds of what is waited for.
var (
	kindSomeCall   = Kind{profile.SortCall, "system call"}
	kindKernelLock = Kind{profile.SortKernel, "the kernel"}
	kindPage       = Kind{profile.SortPage, "a page of memory"}
	// Parked is of a thread that waits for nothing, for ever.
	Parked                = Kind{profile.SortNothing, "nothing"}
	kindASignal           = Kind{profile.SortSignal, "a signal"}
	kindSystemVSemaphore  = Kind{profile.SortQueue, "System V semaphore"}
	kindSystemVQueue      = Kind{profile.SortQueue, "System V message queue"}
	kindMessage           = Kind{profile.SortQueue, "a message in a POSIX message queue"}
	kindRoomForMessage    = Kind{profile.SortQueue, "room in a full POSIX message queue"}
	kindAsynchronousIO    = Kind{profile.SortDisk, "asynchronous input and output"}
	kindFileSystem        = Kind{profile.SortDisk, "the file system"}
	kindDevice            = Kind{profile.SortDevice, "device"}
	kindTraced            = Kind{profile.SortTraced, "a thread that it traces"}
	kindIoUring           = Kind{profile.SortRing, "io_uring"}
	kindChildEnd          = Kind{profile.SortChild, "the end of a child"}
	kindVforkChild        = Kind{profile.SortVfork, "a vfork child to execute a program or end"}
	kindFuseAnswer        = Kind{profile.SortFuse, "an answer of a FUSE file system"}
	kindNfsAnswer         = Kind{profile.SortNFS, "an answer of an NFS server"}
	kindDescriptor        = Kind{profile.SortDescriptor, "descriptor"}
	kindPipeData          = Kind{profile.SortPipeData, "data in a pipe"}
	kindPipeRoom          = Kind{profile.SortPipeRoom, "room in a full pipe"}
	kindFile              = Kind{profile.SortDisk, "file"}
	kindEventfd           = Kind{profile.SortEvent, "eventfd"}
	kindProcessEnd        = Kind{profile.SortProcess, "the end of a process"}
	kindSocketKindOther   = Kind{profile.SortSocketData, "socket"}
	kindSocketData        = Kind{profile.SortSocketData, "data from a socket"}
	kindSocketRoom        = Kind{profile.SortSocketRoom, "room in a socket"}
	kindConnection        = Kind{profile.SortConnection, "a connection to a socket"}
	kindAcceptance        = Kind{profile.SortAcceptance, "its connection to be accepted"}
	kindFileLock          = Kind{profile.SortFileLock, "lock on a file"}
	kindFutexKind         = Kind{profile.SortFutex, "futex"}
	kindFutexes           = Kind{profile.SortFutex, "one of several futexes"}
	kindPiMutex           = Kind{profile.SortLock, "priority-inheritance mutex"}
	kindMutex             = Kind{profile.SortLock, "mutex"}
	kindThreadEnd         = Kind{profile.SortThread, "the end of a thread"}
	kindLoaderLock        = Kind{profile.SortLock, "loader lock"}
	kindStdioLock         = Kind{profile.SortLock, "lock of a stdio FILE"}
	kindRwlock            = Kind{profile.SortLock, "rwlock"}
	kindConditionVariable = Kind{profile.SortCondition, "condition variable"}
	kindSemaphore         = Kind{profile.SortSemaphore, "semaphore"}
	kindBarrier           = Kind{profile.SortBarrier, "barrier"}
	kindLibcLock          = Kind{profile.SortLock, "lock inside libc"}
	kindSigcont           = Kind{profile.SortHalted, "SIGCONT"}
	kindTracer            = Kind{profile.SortHalted, "its tracer"}
	kindThaw              = Kind{profile.SortHalted, "its control group to be thawed"}
	kindRobustMutex       = Kind{profile.SortLock, "robust mutex"}
	kindRecursiveMutex    = Kind{profile.SortLock, "recursive mutex"}
	kindErrorMutex        = Kind{profile.SortLock, "error-checking mutex"}
	kindAdaptiveMutex     = Kind{profile.SortLock, "adaptive mutex"}
	kindRwlockOrSemaphore = Kind{profile.SortLock, "rwlock or semaphore"}
	kindStaticVariable    = Kind{profile.SortLock, "initialisation of a static variable"}
	kindMallocArena       = Kind{profile.SortLock, "malloc arena"}
	kindRuntimeLock       = Kind{profile.SortLock, "runtime lock"}
	kindFileToOpen        = Kind{profile.SortOpen, "a file to open"}
	kindFifoPartner       = Kind{profile.SortOpen, "somebody to open the other end of a FIFO"}
	kindDescriptors       = Kind{profile.SortSet, "descriptors"}
	kindTime              = Kind{profile.SortTime, "time"}
	kindWork              = Kind{profile.SortWork, "work"}
	kindRustMutex         = Kind{profile.SortLock, "Rust Mutex"}
	kindRustRwLock        = Kind{profile.SortLock, "Rust RwLock"}
	kindRustCondvar       = Kind{profile.SortCondition, "Rust Condvar"}
	kindRustOnce          = Kind{profile.SortLock, "Rust Once"}
	kindRustPark          = Kind{profile.SortCondition, "unpark of a Rust thread"}
	kindParkingMutex      = Kind{profile.SortLock, "parking_lot Mutex"}
	kindParkingRwLock     = Kind{profile.SortLock, "parking_lot RwLock"}
	kindParkingCondvar    = Kind{profile.SortCondition, "parking_lot Condvar"}
	kindParkingOnce       = Kind{profile.SortLock, "parking_lot Once"}
	kindParkingLock       = Kind{profile.SortLock, "parking_lot lock"}
	kindCppFuture         = Kind{profile.SortCondition, "C++ future or atomic"}
	kindAtomics           = Kind{profile.SortCondition, "a notify of Atomics.wait"}
	kindGil               = Kind{profile.SortLock, "GIL"}
	kindGoSignal          = Kind{profile.SortWork, "Go signals"}
	kindGoLock            = Kind{profile.SortLock, "lock of the Go runtime"}
	kindGoWork            = Kind{profile.SortWork, "Go runtime"}
	kindPthreadOnce       = Kind{profile.SortLock, "pthread_once"}
	kindNetTask           = Kind{profile.SortTask, "a task"}
	kindNetSemaphore      = Kind{profile.SortSemaphore, "a SemaphoreSlim"}
	kindNetEvent          = Kind{profile.SortCondition, "a ManualResetEventSlim"}
	kindNetCountdown      = Kind{profile.SortCondition, "a CountdownEvent"}
	kindNetBarrier        = Kind{profile.SortBarrier, "the others of a Barrier"}
	kindNetRwLock         = Kind{profile.SortLock, "a ReaderWriterLockSlim"}
	kindNetLock           = Kind{profile.SortLock, "a System.Threading.Lock"}
	kindNetPulse          = Kind{profile.SortCondition, "a pulse of a monitor"}
	kindNetMonitor        = Kind{profile.SortLock, "a monitor"}
	kindNetHandle         = Kind{profile.SortCondition, "a WaitHandle"}
	kindNetWork           = Kind{profile.SortWork, ".NET thread pool"}
	kindNetTimers         = Kind{profile.SortTimers, ".NET timers"}
	kindNetInterrupt      = Kind{profile.SortCondition, "Thread.Interrupt"}
	kindJavaPool          = Kind{profile.SortWork, "Java thread pool"}
	kindJavaForkJoin      = Kind{profile.SortWork, "Java fork-join pool"}
	kindJavaCompletable   = Kind{profile.SortCondition, "a CompletableFuture"}
	kindJavaFuture        = Kind{profile.SortCondition, "a Future"}
	kindJavaTask          = Kind{profile.SortCondition, "a ForkJoinTask"}
	kindJavaSemaphore     = Kind{profile.SortSemaphore, "a Semaphore"}
	kindJavaLatch         = Kind{profile.SortCondition, "a CountDownLatch"}
	kindJavaBarrier       = Kind{profile.SortBarrier, "the others of a CyclicBarrier"}
	kindJavaPhaser        = Kind{profile.SortBarrier, "the others of a Phaser"}
	kindJavaExchanger     = Kind{profile.SortCondition, "another thread at an Exchanger"}
	kindJavaLinkedQueue   = Kind{profile.SortCondition, "a LinkedBlockingQueue"}
	kindJavaArrayQueue    = Kind{profile.SortCondition, "an ArrayBlockingQueue"}
	kindJavaHandover      = Kind{profile.SortCondition, "another thread at a SynchronousQueue"}
	kindJavaCondition     = Kind{profile.SortCondition, "a signal of a Condition"}
	kindJavaRwLock        = Kind{profile.SortLock, "a ReentrantReadWriteLock"}
	kindJavaUnpark        = Kind{profile.SortCondition, "LockSupport.unpark"}
	kindHikari            = Kind{profile.SortPool, "a connection of a HikariCP pool that has none free"}
	kindCommonsPool       = Kind{profile.SortPool, "an object of a Commons Pool that has none free"}
	kindTomcatPool        = Kind{profile.SortPool, "a connection of a Tomcat JDBC pool that has none free"}
	kindJavaTimers        = Kind{profile.SortTimers, "Java timers"}
	kindJavaNotify        = Kind{profile.SortCondition, "a notify of an object"}
	kindJavaSafepoint     = Kind{profile.SortSafepoint, "a safepoint of the JVM"}
	kindTerminalInput     = Kind{profile.SortTerminalInput, "input from a terminal"}
	kindMasterInput       = Kind{profile.SortTerminalInput, "input from the master side of a terminal"}
	kindTerminalRoom      = Kind{profile.SortTerminalRoom, "room for output to a terminal"}
	kindMasterRoom        = Kind{profile.SortTerminalRoom, "room for output to the master side of a terminal"}
)
