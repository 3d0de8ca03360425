//go:build linux

package connector

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/fpstack/fpstack/procfs"
	"golang.org/x/sys/unix"
)

const (
	// eventRoom is how many bytes of events may wait for us in the kernel: some 1,300 events, each of which
	// counts there with the memory that it takes.
	eventRoom = 1 << 20
	// maxAnswer bounds the events of others that may lie before the answer to our subscription.
	maxAnswer = 1 << 12
)

// Events is a connection to the kernel's process events: every thread and process of the machine that begins or
// ends. While it is open the kernel makes a message of each, which costs who makes it about a microsecond. It is
// not safe for concurrent use. The caller closes it.
//
// Source: linux/drivers/connector/cn_proc.c, linux/include/uapi/linux/cn_proc.h, netlink(7).
type Events struct {
	fd   int
	buf  [256]byte
	from unix.RawSockaddrNetlink
}

// Open subscribes to forks and ends. The kernel answers only in the initial pid and user namespaces, whose
// ids the events hold; an answer proves that those are ours too.
//
// It fails where the kernel gives no events, does not answer, or refuses (CAP_NET_ADMIN, before Linux 6.6).
func Open() (*Events, error) {
	if err := procfs.CheckOwn("/proc"); err != nil {
		return nil, fmt.Errorf("subscribe to process events: %w", err)
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK,
		unix.NETLINK_CONNECTOR)
	if err != nil {
		return nil, fmt.Errorf("open socket for process events: %w", err)
	}
	e := &Events{fd: fd}
	if err := e.subscribe(); err != nil {
		e.Close()
		return nil, fmt.Errorf("subscribe to process events: %w", err)
	}
	return e, nil
}

// subscribe begins with the form that every kernel knows and answers. The one with a filter, of Linux 6.6, is
// ignored by older ones, for which the socket has a filter of its own.
func (e *Events) subscribe() error {
	if err := unix.SetsockoptInt(e.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, eventRoom); err != nil {
		// a smaller one overruns sooner, which is reported
		_ = unix.SetsockoptInt(e.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, eventRoom)
	}
	if err := e.filter(); err != nil {
		return err
	}
	if err := unix.Bind(e.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: cnIdxProc}); err != nil {
		return err
	}
	number := rand.Uint32N(1<<32 - 1)
	if err := e.send(appendRequest(nil, number, listenToEvents)); err != nil {
		return err
	}
	if err := e.answer(number); err != nil {
		return err
	}
	return e.send(appendRequest(nil, number, listenToEvents, eventFork|eventExit))
}

// filter has the kernel drop what is neither a fork nor an end, nor an answer, before it wakes us: each of our own
// stops is an event as well.
func (e *Events) filter() error {
	what := func(v uint32) uint32 { // a filter loads words in network order
		return binary.BigEndian.Uint32(binary.NativeEndian.AppendUint32(nil, v))
	}
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: eventAt},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 3, K: what(eventFork)},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 2, K: what(eventExit)},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: what(eventAnswer)},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 16},
	}
	return unix.SetsockoptSockFprog(e.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}

func (e *Events) send(request []byte) error {
	return unix.Sendto(e.fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

// answer reads the answer to our request: the kernel has given it when sending returns.
func (e *Events) answer(number uint32) error {
	for range maxAnswer {
		b, err := e.receive()
		if err == unix.EAGAIN {
			break
		}
		if err != nil {
			return err
		}
		if refusal, ok := parseAnswer(b, number); ok && refusal != 0 {
			return refusal
		} else if ok {
			return nil
		}
	}
	return fmt.Errorf("no answer: the kernel has none, or this is not the initial pid, user and network namespace")
}

// receive reads one message; it is empty if it is not from the kernel.
func (e *Events) receive() ([]byte, error) {
	size := uint32(unsafe.Sizeof(e.from))
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(e.fd), uintptr(unsafe.Pointer(&e.buf[0])),
		uintptr(len(e.buf)),
		unix.MSG_DONTWAIT, uintptr(unsafe.Pointer(&e.from)), uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return nil, errno
	}
	if e.from.Family != unix.AF_NETLINK || e.from.Pid != 0 {
		return nil, nil
	}
	return e.buf[:n], nil
}

// Read fills into with what happened since, in its order, and returns at once. If it fills all there
// may be more.
//
// It fails with ErrMissed if events were lost, as more happened than the kernel keeps for us; those that it
// returns are not lost, and the next call goes on.
func (e *Events) Read(into []Event) (n int, err error) {
	for reads := 0; n < len(into) && reads < 2*len(into); reads++ {
		b, err := e.receive()
		switch err {
		case nil:
		case unix.EAGAIN:
			return n, nil
		case unix.EINTR:
			continue
		case unix.ENOBUFS:
			return n, ErrMissed
		default:
			return n, fmt.Errorf("read process events: %w", err)
		}
		if event, ok := ParseEvent(b); ok {
			into[n] = event
			n++
		}
	}
	return n, nil
}

// Wait waits until there is something to read, but d at most. It may end early.
func (e *Events) Wait(d time.Duration) {
	fds := []unix.PollFd{{Fd: int32(e.fd), Events: unix.POLLIN}}
	limit := unix.NsecToTimespec(int64(max(0, d)))
	_, _ = unix.Ppoll(fds, &limit, nil)
}

// Close ends the subscription.
func (e *Events) Close() error {
	// Before Linux 6.6 the kernel does not notice that a listener is gone, and goes on making events.
	_ = e.send(appendRequest(nil, 0, ignoreEvents))
	return unix.Close(e.fd)
}
