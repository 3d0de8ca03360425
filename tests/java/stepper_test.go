//go:build linux && amd64

package java

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// stepper executes one thread of a process instruction by instruction.
type stepper struct {
	p   *program
	tid int
	at  unix.PtraceRegs
	// truth are the return addresses on the stack, outermost first: of the first walk, and what calls have pushed.
	truth []pushed
	taken []pushed // by other instructions than returns: it may be pushed again, or jumped to
	sent  int      // the signal to deliver with the next step

	interpreter struct {
		begin, end mem.Addr
		reached    bool // it was where it executes
	}
	code, replace []vm.Function // of the JVM, and of that what replaces frames
	stack         []byte
	fetcher       snapshot.Fetcher
	walks         int

	n, compiled, right, incomplete, wrong, shown int
}

// pushed is a return address, and where it is.
type pushed struct {
	slot, to uint64
	popped   bool // by a pop, and not by giving up what is on the stack
}

// stepOf begins to trace a thread, until the test ends. The test stays on its OS thread.
func stepOf(t *testing.T, p *program, tid int) *stepper {
	t.Helper()
	runtime.LockOSThread()
	s := &stepper{p: p, tid: tid, stack: make([]byte, stackBytes)}
	all, _, err := p.Runtimes.Functions()
	if err != nil {
		t.Fatal(err)
	}
	s.code = all
	for _, f := range all {
		if strings.HasPrefix(f.Name, "Interpreter ") {
			s.interpreter.begin = cmp.Or(s.interpreter.begin, f.Start)
			s.interpreter.end = max(s.interpreter.end, f.End)
		}
	}
	if err := ptrace(unix.PTRACE_SEIZE, tid, 0, 0); err != nil {
		t.Skipf("thread %d cannot be traced: %v", tid, err)
	}
	t.Cleanup(func() { _ = ptrace(unix.PTRACE_DETACH, tid, 0, 0); runtime.UnlockOSThread() })
	if err := ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0); err != nil {
		t.Fatal(err)
	}
	s.wait(t)
	s.begin(t)
	return s
}

// begin takes the stack as it is walked for the truth: its methods are those that there can be.
func (s *stepper) begin(t *testing.T) {
	t.Helper()
	stack, named := s.walk(t)
	if why := inStepped(&named); why != "" {
		t.Fatalf("the first stack: %s\n%s", why, show(&named))
	}
	s.truth, s.taken = s.truth[:0], s.taken[:0]
	for i := len(stack.Frames) - 1; i > 0; i-- {
		slot, to := uint64(stack.Frames[i-1].CFA)-8, uint64(stack.Frames[i].PC)
		for slot > uint64(stack.Frames[i-1].SP) && s.word(slot) != to { // below variables of who is interpreted
			slot -= 8
		}
		s.truth = append(s.truth, pushed{slot: slot, to: to})
	}
}

// tell reports what was counted.
func (s *stepper) tell(t *testing.T) {
	t.Helper()
	t.Logf("%d instructions, %d in compiled code: right %d, incomplete %d, wrong %d", s.n, s.compiled, s.right,
		s.incomplete, s.wrong)
	if s.right == 0 || s.incomplete > s.n/20 {
		t.Errorf("%d of %d are incomplete", s.incomplete, s.n)
	}
}

// runTo lets the thread run to the begin of the JVM's code that has one of these in its name.
func (s *stepper) runTo(t *testing.T, names []string) {
	t.Helper()
	at := s.named(names)
	if at < 0 {
		t.Fatalf("no code of the JVM has one of %q in its name", names)
	}
	s.replace = append(s.replace, s.code[at])
	s.until(t, uint64(s.code[at].Start))
	s.begin(t)
}

// named is the number of the code of the JVM that has one of these in its name, -1 for none.
func (s *stepper) named(names []string) int {
	return slices.IndexFunc(s.code, func(f vm.Function) bool {
		has := func(name string) bool { return strings.Contains(strings.ToLower(f.Name), name) }
		return slices.ContainsFunc(names, has)
	})
}

// giveUp executes the code by which a frame is given up, but for the functions of C++ that it calls, until the thread
// is in the interpreter.
func (s *stepper) giveUp(t *testing.T, steps int) {
	t.Helper()
	first, last := uint64(s.code[0].Start), uint64(s.code[len(s.code)-1].End)
	s.interpreter.reached = false
	const calls = 8
	for range calls {
		s.run(t, steps)
		if s.interpreter.reached {
			return
		}
		for n := len(s.truth) - 1; n > 0 && (s.at.Rip < first || s.at.Rip >= last); n-- {
			if to := s.truth[n].to; to >= first && to < last {
				s.until(t, to)
				s.truth, s.taken = s.truth[:n], s.taken[:0]
			}
		}
	}
	_, named := s.walk(t)
	t.Errorf("it has not come to the interpreter:\n%s", show(&named))
}

// until lets the thread run to an instruction.
func (s *stepper) until(t *testing.T, at uint64) {
	t.Helper()
	const debug, enabled = 848, 7 // u_debugreg in struct user of sys/user.h; Intel SDM volume 3, 18.2.4
	if err := errors.Join(s.poke(debug, at), s.poke(debug+enabled*8, 1)); err != nil {
		t.Skipf("a breakpoint does not work here: %v", err)
	}
	late := time.AfterFunc(20*time.Second, func() { unix.Kill(s.p.pid, unix.SIGKILL) })
	defer late.Stop()
	for s.at.Rip != at {
		sig := s.sent
		s.sent = 0
		if err := ptrace(unix.PTRACE_CONT, s.tid, 0, uintptr(sig)); err != nil {
			t.Fatal(err)
		}
		s.wait(t)
	}
	if err := s.poke(debug+enabled*8, 0); err != nil {
		t.Fatal(err)
	}
}

func (s *stepper) poke(offset uintptr, value uint64) error {
	return ptrace(unix.PTRACE_POKEUSR, s.tid, offset, uintptr(value))
}

// run executes n instructions and compares the stack before each.
func (s *stepper) run(t *testing.T, n int) {
	t.Helper()
	for range n {
		if m := s.p.Set.Table().Find(mem.Addr(s.at.Rip)); m != nil && m.Path == "[vdso]" && len(s.truth) > 0 {
			// It reads the clock again if that was set meanwhile, as it always is.
			s.until(t, s.truth[len(s.truth)-1].to)
			s.truth = s.truth[:len(s.truth)-1]
		}
		code := make([]byte, 16)
		got, _ := s.p.ReadMem(code, mem.Addr(s.at.Rip))
		was := s.at
		if err := ptrace(unix.PTRACE_SINGLESTEP, s.tid, 0, uintptr(s.sent)); err != nil {
			t.Fatal(err)
		}
		delivered := s.sent != 0
		s.sent = 0
		s.wait(t)
		if s.sent != 0 { // it faulted: nothing was executed
			continue
		}
		s.follow(code[:got], &was, delivered)
		s.compare(t)
		if s.wrong > 3 {
			return
		}
	}
}

// wait waits until the thread is stopped, and reads its registers. A signal that it got is to be delivered.
func (s *stepper) wait(t *testing.T) {
	t.Helper()
	var ws unix.WaitStatus
	if _, err := unix.Wait4(s.tid, &ws, unix.WALL, nil); err != nil || !ws.Stopped() {
		t.Fatalf("wait for thread %d: %#x, %v", s.tid, uint32(ws), err)
	}
	if sig := ws.StopSignal(); sig != unix.SIGTRAP {
		s.sent = int(sig)
	}
	if err := unix.PtraceGetRegs(s.tid, &s.at); err != nil {
		t.Fatal(err)
	}
}

func (s *stepper) word(a uint64) uint64 {
	v, err := mem.Uint(s.p, mem.Addr(a), 8, binary.LittleEndian)
	if err != nil {
		return 0
	}
	return v
}

// follow keeps the truth, by the instruction that was executed.
func (s *stepper) follow(code []byte, was *unix.PtraceRegs, handler bool) {
	sp := s.at.Rsp
	if handler { // the kernel has built a frame, which returns to a trampoline, and from there as its context says
		const contextPC = 168 // in ucontext_t of sys/ucontext.h
		s.truth = append(s.truth, pushed{slot: s.at.Rdx + contextPC, to: was.Rip}, pushed{slot: sp, to: s.word(sp)})
		return
	}
	op, modRM := opcode(code)
	returns, pops := op == 0xc3 || op == 0xc2, op&^7 == 0x58
	if !slices.ContainsFunc(s.replace, func(f vm.Function) bool {
		return f.Start <= mem.Addr(s.at.Rip) && mem.Addr(s.at.Rip) < f.End
	}) {
		s.taken = slices.DeleteFunc(s.taken, func(p pushed) bool { return !p.popped })
	}
	for n := len(s.truth); n > 0 && s.truth[n-1].slot < sp; n-- {
		if !returns {
			s.truth[n-1].popped, s.truth[n-1].to = pops, s.now(s.truth[n-1])
			s.taken = append(s.taken, s.truth[n-1])
		}
		s.truth = s.truth[:n-1]
	}
	switch pushes := sp == was.Rsp-8; {
	case pushes && (op == 0xe8 || op == 0xff && modRM>>3&7 == 2):
		s.truth = append(s.truth, pushed{slot: sp, to: s.word(sp)})
		s.taken = s.taken[:0]
	case pushes && len(s.truth) > 0 && s.truth[len(s.truth)-1].to == s.word(sp): // to make room above it
		s.truth[len(s.truth)-1].slot = sp
	case len(s.taken) == 0:
	case slices.ContainsFunc(s.taken, func(p pushed) bool { return p.to == s.at.Rip }):
		s.taken = s.taken[:0] // it has gone there
	case pushes:
		if i := slices.IndexFunc(s.taken, func(p pushed) bool { return p.to == s.word(sp) }); i >= 0 {
			s.truth = append(s.truth, pushed{slot: sp, to: s.taken[i].to})
			s.taken = slices.Delete(s.taken, 0, i+1)
		}
	}
}

// now is what stands where a return address was pushed: the JVM replaces that of code which it has given up, and a
// handler of a signal where it returns to.
func (s *stepper) now(p pushed) uint64 {
	return s.word(p.slot)
}

// opcode is that of an instruction behind its prefixes, and the byte after it.
func opcode(code []byte) (op, modRM byte) {
	for len(code) > 1 && (code[0]&0xf0 == 0x40 || strings.IndexByte("\x66\xf2\xf3\x2e\x3e\x64", code[0]) >= 0) {
		code = code[1:]
	}
	if len(code) < 2 {
		return 0, 0
	}
	return code[0], code[1]
}

// compare walks the stack as it is, and counts.
func (s *stepper) compare(t *testing.T) {
	t.Helper()
	stack, named := s.walk(t)
	s.n++
	if len(named.Frames) > 0 && strings.HasPrefix(named.Frames[0].Tier, "C") {
		s.compiled++
	}
	s.interpreter.reached = s.interpreter.reached || s.interprets(s.at.Rip)
	why := inStepped(&named)
	if why == "" {
		why = s.differs(&stack)
	}
	unsure := func(f profile.Frame) bool { return f.Gap || f.Unsure }
	switch marked := !named.Complete || slices.ContainsFunc(named.Frames, unsure); {
	case why == "":
		s.right++
		return
	case marked:
		s.incomplete++
	default:
		s.wrong++
		t.Errorf("instruction %d is walked wrong", s.n)
	}
	if s.shown++; s.shown <= 3 || s.wrong > 0 && s.wrong <= 3 {
		code := make([]byte, 64)
		got, _ := s.p.ReadMem(code, mem.Addr(s.at.Rip-32))
		t.Logf("instruction %d, sp %#x, from pc - 32 on % x, truth %v, taken %v: %s\n%s", s.n, s.at.Rsp, code[:got],
			s.truth, s.taken, why, show(&named))
	}
}

// differs says how return addresses of a walk differ from the truth. Those in the interpreter are left out, which
// pushes them without a call, and replaces frames of compiled code.
func (s *stepper) differs(stack *unwind.Stack) string {
	var got, want []uint64
	for i := range stack.Frames {
		if pc := uint64(stack.Frames[i].PC); i > 0 && !s.interprets(pc) {
			got = append(got, pc)
		}
	}
	const handler = 16 // of deoptimisation: it pushes where it is, by a call of the next instruction
	add := func(to uint64) {
		if !s.interprets(to) && s.at.Rip-to+handler > 2*handler {
			want = append(want, to)
		}
	}
	for _, p := range s.truth {
		add(s.now(p))
	}
	for _, p := range s.taken {
		add(p.to)
	}
	slices.Reverse(want)
	if !slices.Equal(got, want) {
		return fmt.Sprintf("return addresses are\n%#x, want\n%#x", got, want)
	}
	return ""
}

// interprets reports whether an address is in the interpreter.
func (s *stepper) interprets(pc uint64) bool {
	return s.interpreter.begin < mem.Addr(pc) && mem.Addr(pc) <= s.interpreter.end
}

// stackBytes is how much of a stack is copied, at most.
const stackBytes = 64 << 10

// walk walks and names the stack of the thread as it is.
func (s *stepper) walk(t *testing.T) (unwind.Stack, profile.Stack) {
	t.Helper()
	note := unsafe.Slice((*byte)(unsafe.Pointer(&s.at)), unsafe.Sizeof(s.at))
	r, err := regs.AMD64.Decode(note)
	if err != nil {
		t.Fatal(err)
	}
	th := snapshot.Thread{TID: s.tid, State: 'R', Arch: regs.AMD64, Registers: &r, TP: mem.Addr(s.at.Fs_base),
		HasTP: true}
	if s.walks++; s.walks%256 == 1 {
		table, err := s.p.Maps()
		if err != nil {
			t.Fatal(err)
		}
		s.p.Set.Update(table)
		s.p.Walker.Renew()
	}
	from := mem.Addr(s.at.Rsp) - 128
	got, _ := s.p.ReadMem(s.stack, from)
	th.Stack = mem.Range{Start: from, Data: s.stack[:got]}
	s.fetcher.Run(s.p.Runtimes.Copiers(), &th, s)
	shot := &snapshot.Snapshot{Host: regs.AMD64, Maps: s.p.Set.Table(), Threads: []snapshot.Thread{th}}
	stack := s.p.Walk(shot, 0)
	return stack, s.p.Names.Stack(&stack)
}

// ReadPieces implements [snapshot.PieceReader].
func (s *stepper) ReadPieces(pieces []snapshot.Piece) error {
	for i := range pieces {
		pieces[i].Got, _ = s.p.ReadMem(pieces[i].Data, pieces[i].Addr)
	}
	return nil
}

func ptrace(request, tid int, addr, data uintptr) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); e != 0 {
		return e
	}
	return nil
}
