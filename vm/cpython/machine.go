package cpython

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
)

// machine is what differs between the architectures whose interpreters are read. All have words of 64 bits, the low
// byte first, so that structures are the same.
type machine struct {
	futex, restart int64 // numbers of system calls: futex, restart_syscall
	// selfIsTP says that pthread_self is the thread pointer. Else the descriptor of a thread lies below that, by a
	// length that is libc's own, and threads are told by the number that the kernel gave them.
	selfIsTP bool
	self     mem.Addr    // where that descriptor has its own address in glibc, 0 if it has not
	tid      [2]mem.Addr // where the descriptor has that number: glibc, musl
}

// machines are known by their architecture. Sources: struct pthread in nptl/descr.h of glibc (behind tcbhead_t or its
// padding, two pointers), tcbhead_t.self, and struct pthread in src/internal/pthread_impl.h of musl; TLS_TCB_AT_TP in
// sysdeps/x86_64/nptl/tls.h, TLS_DTV_AT_TP in sysdeps/aarch64/nptl/tls.h.
var machines = map[*regs.Arch]*machine{
	regs.AMD64: {futex: 202, restart: 219, selfIsTP: true, self: 16, tid: [2]mem.Addr{720, 48}},
	regs.ARM64: {futex: 98, restart: 128, tid: [2]mem.Addr{208, 32}},
}

// self is pthread_self of t, where its thread pointer says that.
func self(t *snapshot.Thread) (mem.Addr, bool) {
	m := machines[t.Arch]
	return t.TP, t.HasTP && (m == nil || m.selfIsTP)
}

// reads reports whether frames of Python are looked for in t: it is of the interpreter's own architecture.
func (r *Runtime) reads(t *snapshot.Thread) bool { return t.Arch == r.arch }
