//go:build linux

package tracer

import (
	"errors"
	"sync"
	"time"

	"github.com/fpstack/fpstack/tracer/osthread"

	"golang.org/x/sys/unix"
)

// SamplerOptions say how a Sampler works. The zero value is usual.
type SamplerOptions struct {
	// MaxPause bounds how long one thread is waited for; 0 means 20 ms. One that is ready to
	// run is waited for 250 ms at least: it stops when it comes to a CPU, which others may
	// have, or a control group may grant only every 100 ms. It is not stopped while it is
	// waited for.
	MaxPause time.Duration
	// StackLimit bounds the bytes copied of one stack; 0 means 256 KiB, which takes about
	// 60 us. Less is copied where less is in use. Where the upper end of the used part is not
	// known (a goroutine's stack), 32 KiB are copied, and more, up to the limit, only if a
	// chain of frame pointers leads out of them.
	StackLimit int
	// RepairEINTR lets a system call that would return EINTR because of our stop be restarted,
	// by a change of one register. Only on amd64, for calls that wait without a limit.
	RepairEINTR bool
	// Calm gives the other threads of this program coarse timers, 4 ms, where it may (CAP_SYS_NICE): Go's runtime takes
	// half the CPU time then. It is not for more than some 2,000 samples a second, of which a third would be lost.
	Calm bool
}

const (
	defaultSamplePause = 20 * time.Millisecond
	defaultCopyLimit   = 256 << 10
)

// Sampler samples single threads of any processes, again and again, from one OS thread of
// its own. Between two samples nothing is attached, so that signals, debuggers and setuid
// programs are left alone.
//
// Its methods may be called from any goroutine; Stop, Seize, Interrupt and Collect only inside of Do. A process is not
// to be sampled by a Snapshot or another Sampler at the same time: a thread has one tracer.
type Sampler struct {
	engine
	opt    SamplerOptions
	mu     sync.Mutex // held by Do
	thread *osthread.Thread
	inside bool // in Do
	stops  bool // in Stop

	seized      []interrupted // to be interrupted
	interrupted []interrupted // to be collected
	crowded     int           // sleeps for which no CPU is taken to be idle
	prompt      bool          // the last Sleep was
	delay       delay
	windows     windows
	ended       time.Duration // when the last sample ended
	writes      int           // registers of targets that were written
	cpu         int           // one more than the CPU that the OS thread was moved to, 0: it was not
	keepAway    int           // sleeps for which it is not moved
	home        unix.CPUSet   // where it may run otherwise
}

// NewSampler returns a Sampler. The caller closes it.
func NewSampler(opt SamplerOptions) *Sampler {
	if opt.MaxPause <= 0 {
		opt.MaxPause = defaultSamplePause
	}
	if opt.StackLimit <= 0 {
		opt.StackLimit = defaultCopyLimit
	}
	return &Sampler{engine: engine{clock: time.Now()}, opt: opt}
}

// ErrDirty says that a thread which did not stop may still be traced, so that no other is
// stopped until Do has ended the OS thread.
var ErrDirty = errors.New("a thread that did not stop may still be traced")

var errInterrupted = errors.New("stop of a thread while others are interrupted")

var errOutside = errors.New("stop of a thread outside of Sampler.Do")

// Do runs f on the OS thread of the Sampler and waits for its end. Stop may be called only
// in f. Children must not be started in f.
//
// When Dirty is true f should return soon: a thread that did not stop is let go by the end
// of the OS thread, which Do sees to after f. The next Do starts another.
//
// It fails with a *FaultError if f panics. Everything is let go then, what was interrupted is given up, and the
// Sampler can be used on.
func (l *Sampler) Do(f func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.thread == nil {
		l.thread = osthread.Start()
		l.use(l.thread, l)
		if err := l.thread.Do(func() { l.settleThreads(); l.urgency.Prepare(); l.delay.open() }); err != nil {
			return err
		}
	}
	err := l.thread.Do(func() {
		osthread.PrepareSignals()
		l.inside = true
		defer func() {
			l.inside = false
			l.GiveUp()
			l.goHome()
			l.disarm()
		}()
		f()
	})
	if l.dirty || err != nil { // out of a panic something may be held that nobody knows of
		l.endThread()
	}
	return err
}

func (l *Sampler) settleThreads() {
	if l.opt.Calm {
		calmOthers()
	}
	wakeSoon()
}

// GiveUp leaves what was interrupted and not collected to the end of the OS thread, if there is any: Dirty is
// set. The Copies belong to the caller again. It is called inside of Do, and by its end.
func (l *Sampler) GiveUp() {
	l.dirty = l.dirty || len(l.interrupted) > 0 || len(l.seized) > 0
	clear(l.seized)
	l.seized = l.seized[:0]
	for len(l.interrupted) > 0 {
		l.remove(len(l.interrupted) - 1)
	}
	l.prompt = false
	l.urgency.End()
}

const (
	// noIdleCPU is how long the OS thread waits for a CPU where none is idle, at least.
	noIdleCPU = 30 * time.Microsecond
	// crowdedFor is for how many sleeps that is taken to last. Where a CPU is idle it is better to be woken there: a
	// real-time thread comes back to the CPU it had, also if a thread that is recorded runs there now.
	crowdedFor = 256
)

// Sleep lets up to d pass on the OS thread of the Sampler; it may return early. It is called
// inside of Do. The sleep of a goroutine would do, but that is several threads waking one
// another, and where no CPU is idle each of them takes the one of a thread that is sampled.
//
// With prompt, and if a Sleep of late has ended late for want of a CPU, the OS thread gets a CPU before all usual
// threads when it wakes, where the kernel lets it, until a Sleep that is not prompt, or that finds a CPU idle again, or
// the end of Do: the moment of a sample is then not the scheduler's choice. What is done between such Sleeps should
// take a fraction of a millisecond.
func (l *Sampler) Sleep(d time.Duration, prompt bool) {
	if !l.inside || d <= 0 {
		return
	}
	l.disarm()
	l.crowded, l.keepAway = max(0, l.crowded-1), max(0, l.keepAway-1)
	l.prompt = prompt
	if prompt && (l.crowded > 0 || l.cpu != 0) {
		l.urgency.Begin()
	} else {
		l.calm()
	}
	waited := l.delay.waited()
	defer func() {
		if l.delay.waited()-waited > noIdleCPU {
			l.tooLate()
		}
	}()
	Nap(d)
}

// tooLate notes that the OS thread had to wait for a CPU. If that is for want of a right to be first, it stays away
// from the CPUs of those that are sampled: it would get one when the scheduler takes it from them.
func (l *Sampler) tooLate() {
	l.crowded = crowdedFor
	if l.cpu != 0 && !l.urgency.Now() {
		l.keepAway = crowdedFor
		l.goHome()
	}
}

// Dirty reports, inside of Do, whether something may still be traced.
func (l *Sampler) Dirty() bool { return l.dirty }

// Close ends the OS thread. No method may be called afterwards.
func (l *Sampler) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endThread()
	return nil
}

func (l *Sampler) endThread() {
	if l.thread != nil {
		l.delay.close()
		l.thread.End()
		l.thread, l.dirty = nil, false
	}
}
