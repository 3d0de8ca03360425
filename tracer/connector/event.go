//go:build linux

package connector

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// ErrMissed says that some process events were lost: what they reported has to be found in another way.
var ErrMissed = errors.New("process events were lost")

// Event is what the kernel reports of one thread. Ids are those of the initial pid namespace.
type Event struct {
	Ended  bool // else it began
	PID    int  // the process it belongs to
	TID    int  // PID, if it is the first thread of its process, and the process began with it
	Parent int  // of a process that began: the process that made it; 0 if it is not reported
}

// A message is a struct nlmsghdr (16 bytes), a struct cn_msg (20) and a struct proc_event, all in the byte order of
// the machine:
//
//	nlmsghdr  0 len  4 type  6 flags  8 seq  12 pid
//	cn_msg   16 idx  20 val  24 seq  28 ack  32 len  34 flags
//	event    36 what  40 cpu  44 time  52 data, which depends on what
//	  fork   52 parent thread  56 parent process  60 child thread  64 child process
//	  exit   52 thread  56 process  60 exit code  64 exit signal
//	  answer 52 error
//
// Source: linux/include/uapi/linux/netlink.h, connector.h, cn_proc.h.
const (
	messageAt, eventAt, dataAt = 16, 36, 52

	cnIdxProc, cnValProc         = 1, 1
	listenToEvents, ignoreEvents = 1, 2 // enum proc_cn_mcast_op

	eventAnswer = 0 // PROC_EVENT_NONE
	eventFork   = 1
	eventExit   = 0x80000000
)

// appendRequest appends a request with that number to b: a struct cn_msg with words. The kernel gives its answer
// the number after it, as its acknowledgement; its own sequence is another.
func appendRequest(b []byte, number uint32, words ...uint32) []byte {
	n := binary.NativeEndian
	b = n.AppendUint32(b, uint32(eventAt+4*len(words)))
	b = n.AppendUint16(b, unix.NLMSG_DONE)
	b = n.AppendUint16(b, 0)
	b = n.AppendUint32(b, 0)
	b = n.AppendUint32(b, 0) // the kernel knows who we are
	for _, v := range []uint32{cnIdxProc, cnValProc, 0, number} {
		b = n.AppendUint32(b, v)
	}
	b = n.AppendUint16(b, uint16(4*len(words)))
	b = n.AppendUint16(b, 0)
	for _, v := range words {
		b = n.AppendUint32(b, v)
	}
	return b
}

// eventOf returns the struct proc_event of a message and what kind it is. It is false for what is no whole
// message of the process events.
func eventOf(b []byte) (what uint32, ok bool) {
	n := binary.NativeEndian
	if len(b) < dataAt+4 || int64(n.Uint32(b)) > int64(len(b)) || n.Uint32(b) < dataAt+4 {
		return 0, false
	}
	if n.Uint32(b[messageAt:]) != cnIdxProc || n.Uint32(b[messageAt+4:]) != cnValProc {
		return 0, false
	}
	if size := int(n.Uint16(b[32:])); eventAt+size > len(b) || eventAt+size < dataAt+4 {
		return 0, false
	}
	return n.Uint32(b[eventAt:]), true
}

// Parse reads a message of the process events, as the kernel gave it. It is false for what shows neither of a
// beginning nor of an end, and for what is no such message.
func ParseEvent(b []byte) (Event, bool) {
	what, ok := eventOf(b)
	if !ok {
		return Event{}, false
	}
	id := func(at int) int { return int(int32(binary.NativeEndian.Uint32(b[at:]))) }
	var e Event
	switch {
	case what == eventFork && len(b) >= dataAt+16:
		e = Event{PID: id(dataAt + 12), TID: id(dataAt + 8)}
		if e.PID == e.TID {
			e.Parent = id(dataAt + 4)
		}
	case what == eventExit && len(b) >= dataAt+8:
		e = Event{Ended: true, PID: id(dataAt + 4), TID: id(dataAt)}
	default:
		return Event{}, false
	}
	return e, e.PID > 0 && e.TID > 0 && e.Parent >= 0
}

// parseAnswer reads the answer to the request with that number: 0, or why it was refused.
func parseAnswer(b []byte, number uint32) (refusal unix.Errno, ok bool) {
	what, ok := eventOf(b)
	n := binary.NativeEndian
	if !ok || what != eventAnswer || n.Uint32(b[28:]) != number+1 {
		return 0, false
	}
	// The kernel keeps the error positive.
	return unix.Errno(n.Uint32(b[dataAt:])), true
}
