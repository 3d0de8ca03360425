package exact

import (
	"fmt"
	"slices"
	"testing"
)

// script drives a Truth and says where the thread is.
type script struct {
	*Truth
	at point
}

func newScript() *script {
	at := point{pc: 0x1000, sp: 0x8000}
	return &script{Truth: newTruth(at, 8, &parked{}), at: at}
}

// run executes an instruction of kind k that leads to pc and sp.
func (s *script) run(k kind, pc, sp uint64) {
	after := point{pc, sp}
	s.step(instruction{kind: k, len: 5}, s.at, after)
	s.at = after
}

// call goes to pc; the return address is the PC plus 5.
func (s *script) call(pc uint64) { s.run(call, pc, s.at.sp-8) }

// push and others that move SP by a distance.
func (s *script) move(delta int64) { s.run(other, s.at.pc+1, s.at.sp+uint64(delta)) }

// interrupt enters a handler whose restorer is at 0x6000.
func (s *script) interrupt(at point) {
	s.signal(s.at, at, 0x6000)
	s.at = at
}

// sigreturned ends it.
func (s *script) sigreturned(after point, pushed uint64) {
	s.sigreturn(after, pushed)
	s.at = after
}

func TestTruth(t *testing.T) {
	rows := []struct {
		name string
		run  func(s *script)
		want []uint64
	}{
		{"nothing called", func(s *script) {}, []uint64{0x1000}},
		{"call in a call", func(s *script) { s.call(0x2000); s.call(0x3000) }, []uint64{0x3000, 0x2005, 0x1005}},
		{"returned", func(s *script) { s.call(0x2000); s.run(ret, 0x1005, 0x8000) }, []uint64{0x1005}},
		{"ret n", func(s *script) { s.move(-16); s.call(0x2000); s.run(ret, 0x1006, 0x8000) }, []uint64{0x1006}},
		{"call that did not run", func(s *script) { s.run(call, 0x1000, 0x8000) }, []uint64{0x1000}},
		{"ret used as a jump", func(s *script) { s.call(0x2000); s.move(-8); s.run(ret, 0x3000, 0x7ff8) },
			[]uint64{0x3000, 0x1005}},
		{"return address held in a register, as in vfork", func(s *script) {
			s.call(0x2000)
			s.run(pop, 0x2001, 0x8000)
			s.run(syscall_, 0x2006, 0x8000)
		}, []uint64{0x2006, 0x1005}},
		{"and pushed again", func(s *script) {
			s.call(0x2000)
			s.run(pop, 0x2001, 0x8000)
			s.run(other, 0x2002, 0x7ff8)
			s.run(ret, 0x1005, 0x8000)
		}, []uint64{0x1005}},
		{"and jumped to", func(s *script) {
			s.call(0x2000)
			s.run(pop, 0x2001, 0x8000)
			s.run(jump, 0x1005, 0x8000)
		}, []uint64{0x1005}},
		{"return address in a buffer during a call, as in sigsetjmp", func(s *script) {
			s.call(0x2000)
			s.run(pop, 0x2001, 0x8000)
			s.call(0x3000)
		}, []uint64{0x3000, 0x2006, 0x1005}},
		{"longjmp", func(s *script) {
			s.call(0x2000)
			s.move(-64)
			s.call(0x3000)
			s.call(0x4000)
			s.run(other, 0x4001, 0x7fc0) // mov %r8,%rsp
		}, []uint64{0x4001, 0x1005}},
		{"exception that lands: mov %rcx,%rsp; pop %rcx; jmp *%rcx", func(s *script) {
			s.call(0x2000)
			s.move(-64)
			s.call(0x3000)
			s.call(0x4000)
			s.run(other, 0x4001, 0x7fb0)
			s.run(pop, 0x4002, 0x7fb8)
			s.run(jump, 0x2020, 0x7fb8)
		}, []uint64{0x2020, 0x1005}},
		{"handler", func(s *script) {
			s.call(0x2000)
			s.interrupt(point{0x5000, 0x7000})
		}, []uint64{0x5000, 0x6000, 0x2000, 0x1005}},
		{"restorer", func(s *script) {
			s.call(0x2000)
			s.interrupt(point{0x5000, 0x7000})
			s.run(ret, 0x6000, 0x7008)
		}, []uint64{0x6000, 0x2000, 0x1005}},
		{"sigreturn", func(s *script) {
			s.call(0x2000)
			s.interrupt(point{0x5000, 0x7000})
			s.run(ret, 0x6000, 0x7008)
			s.sigreturned(point{0x2000, 0x7ff8}, 0)
		}, []uint64{0x2000, 0x1005}},
		{"handler that makes the interrupted code call something", func(s *script) {
			s.call(0x2000)
			s.interrupt(point{0x5000, 0x7000})
			s.sigreturned(point{0x9000, 0x7ff0}, 0x2000)
		}, []uint64{0x9000, 0x2000, 0x1005}},
		{"siglongjmp", func(s *script) {
			s.call(0x2000)
			s.interrupt(point{0x5000, 0x7000})
			s.run(other, 0x5001, 0x7ff8)
		}, []uint64{0x5001, 0x1005}},
		{"siglongjmp from an alternate stack", func(s *script) {
			s.call(0x2000)
			s.interrupt(point{0x5000, 0x900000})
			s.run(other, 0x5001, 0x7ff8)
		}, []uint64{0x5001, 0x1005}},
		{"sigreturn from an alternate stack", func(s *script) {
			s.call(0x2000)
			s.interrupt(point{0x5000, 0x900000})
			s.sigreturned(point{0x2000, 0x7ff8}, 0)
		}, []uint64{0x2000, 0x1005}},
		{"coroutine", func(s *script) {
			s.call(0x2000)
			s.run(other, 0x2001, 0x900000)
			s.run(ret, 0x7000, 0x900008)
			s.begun(point{0x7000, 0x900008}, 0x7777, true)
		}, []uint64{0x7000, 0x7777}},
		{"coroutine left", func(s *script) {
			s.call(0x2000)
			s.run(other, 0x2001, 0x900000)
			s.run(ret, 0x7000, 0x900008)
			s.begun(point{0x7000, 0x900008}, 0, false)
			s.call(0x2000)
			s.run(other, 0x2001, 0x7ff8)
			s.run(ret, 0x1005, 0x8000)
		}, []uint64{0x1005}},
		{"stack that grows far by a computed pointer", func(s *script) {
			s.call(0x2000)
			s.run(other, 0x2001, 0x7000)
			s.run(ret, 0x2005, 0x7008)
		}, []uint64{0x2005, 0x1005}},
		{"big frame", func(s *script) {
			s.at.sp, s.cur.base = 0x10000000, 0x10000000
			s.run(adjust, 0x1001, 0x10000000-251456)
			s.call(0x2000)
		}, []uint64{0x2000, 0x1006}},
	}
	for _, r := range rows {
		s := newScript()
		r.run(s)
		got := s.chain(nil, s.at.pc)
		if !slices.Equal(got, r.want) {
			t.Errorf("%s: got %s, want %s", r.name, hexes(got), hexes(r.want))
		}
	}
}

func TestTruthJumpEnds(t *testing.T) {
	s := newScript()
	s.call(0x2000)
	s.call(0x3000)
	s.run(other, 0x3001, 0x8000-8)
	if !s.inJump {
		t.Error("SP moved over a frame: got no jump")
	}
	s.run(jump, 0x2010, 0x8000-8)
	if s.inJump {
		t.Error("control went on: got a jump still")
	}
}

func TestTruthReturnThunk(t *testing.T) {
	s := newScript()
	s.call(0x2000)
	s.call(0x2100)                  // the thunk's inner call
	s.run(adjust, 0x2105, 0x8000-8) // lea 8(%rsp),%rsp
	s.run(ret, 0x1005, 0x8000)
	if s.inJump || s.Odd != 0 {
		t.Errorf("return thunk: got jump %v, odd returns %d, want none", s.inJump, s.Odd)
	}
}

// scriptStep is a step of a script, and the chain behind it.
type scriptStep struct {
	name string
	run  func()
	want []uint64
}

func (s *script) follow(t *testing.T, steps []scriptStep) {
	t.Helper()
	for _, step := range steps {
		step.run()
		if got := s.chain(nil, s.at.pc); !slices.Equal(got, step.want) {
			t.Errorf("%s: got %s, want %s", step.name, hexes(got), hexes(step.want))
		}
	}
}

// A function of Go's runtime goes to the system stack and comes back, as runtime.systemstack does.
func TestTruthStackCall(t *testing.T) {
	s := newScript()
	s.calls = func(pc uint64) bool { return pc == 0x3000 }
	s.call(0x2000)                 // scheduler
	s.run(other, 0x2001, 0x900000) // to a goroutine, for good
	s.begun(s.at, 0x9005, true)    // which will end at 0x9005
	s.call(0x3000)                 // systemstack
	s.run(other, 0x3001, 0x7ff8)   // to the system stack
	s.call(0x4000)                 //
	s.follow(t, []scriptStep{
		{"on the system stack", func() {}, []uint64{0x4000, 0x3006, 0x2006, 0x9005}},
		{"returned there", func() { s.run(ret, 0x3006, 0x7ff8) }, []uint64{0x3006, 0x2006, 0x9005}},
		{"back on the goroutine's", func() { s.at.pc = 0x3000; s.run(other, 0x3010, 0x900000-8) },
			[]uint64{0x3010, 0x2006, 0x9005}},
		{"to the scheduler, for good", func() { s.at.pc = 0x5000; s.run(other, 0x5001, 0x7ff8) },
			[]uint64{0x5001, 0x1005}},
	})
}

// A system stack that was met further down alone, if at all, is one that was entered by a call: what lies there where
// that first returns to is no first function's.
func TestTruthStackCallToUnknown(t *testing.T) {
	s := newScript()
	s.calls = func(pc uint64) bool { return pc == 0x3000 }
	s.call(0x3000)
	s.run(other, 0x3001, 0x700000)
	s.call(0x4000)
	s.run(ret, 0x3006, 0x700000)
	if s.entering(instruction{kind: ret}) {
		t.Error("the word at SP is taken for the return address of its first function")
	}
}

// On the system stack runtime.nanotime1 aligns SP, as it does where it has gone there: that leads to no other stack,
// also where the thread was seen further down before.
func TestTruthAlignsOnSystemStack(t *testing.T) {
	s := newScript()
	s.calls = func(pc uint64) bool { return pc&^0xf == 0x3000 || pc&^0xf == 0x6000 }
	s.run(other, 0x2000, 0x7f00)   // the scheduler, of which it is not known how far up its stack goes
	s.run(other, 0x2001, 0x900000) // to a goroutine, for good
	s.begun(s.at, 0x9005, true)
	s.call(0x3000)               // systemstack
	s.run(other, 0x3001, 0x8100) // to the system stack
	s.call(0x4000)
	s.run(adjust, 0x4001, 0x8010)
	s.call(0x6000) // nanotime1
	s.follow(t, []scriptStep{
		{"aligns", func() { s.run(other, 0x6001, 0x7fe0) }, []uint64{0x6001, 0x4006, 0x3006, 0x2006, 0x9005}},
		{"back", func() { s.run(other, 0x6002, 0x8008) }, []uint64{0x6002, 0x4006, 0x3006, 0x2006, 0x9005}},
		{"returns", func() { s.run(ret, 0x4006, 0x8010) }, []uint64{0x4006, 0x3006, 0x2006, 0x9005}},
	})
}

// A goroutine fills its stack, which goes elsewhere meanwhile; another one begins where it was; C that it calls calls
// back.
func TestTruthGoroutines(t *testing.T) {
	const scheduler, resumer, callsC, callsGo = 0x2000, 0x5000, 0x6000, 0x7000
	const ended, system, old, grown = 0x9005, 0x7ff8, 0x900000, 0xa00000
	owner := uint64(0)
	s := newScript()
	s.calls = func(pc uint64) bool { return pc == callsC }
	s.callsBack = func(pc uint64) bool { return pc == callsGo }
	s.owner = func(pc uint64) uint64 {
		if pc&^1 == resumer {
			return owner
		}
		return 0
	}
	from := func(pc uint64) { s.at.pc = pc }
	resume := func(g, pc, sp uint64) {
		owner = g
		from(resumer)
		s.run(other, resumer+1, sp)
		s.run(jump, pc, sp)
	}
	s.call(scheduler)
	s.follow(t, []scriptStep{
		{"begins", func() { resume(1, 0x3000, old); s.begun(s.at, ended, true) }, []uint64{0x3000, ended}},
		{"its stack is full", func() { s.call(0x3100); s.call(0x3200); from(0x3300); s.run(other, 0x3301, system) },
			[]uint64{0x3301, 0x1005}},
		{"goes on elsewhere", func() { resume(1, 0x3105, grown-8) }, []uint64{0x3105, 0x3005, ended}},
		{"another one is where it was", func() {
			s.call(0x3200)
			from(0x3300)
			s.run(other, 0x3301, system)
			resume(2, 0x3000, old)
			s.begun(s.at, ended, true)
		}, []uint64{0x3000, ended}},
		{"the first again, as far as that was", func() {
			from(0x3300)
			s.run(other, 0x3301, system)
			resume(1, 0x310a, grown-8)
		}, []uint64{0x310a, 0x3005, ended}},
		{"another one in the place of the second, which has ended", func() {
			s.call(0x3200)
			from(0x3300)
			s.run(other, 0x3301, system)
			resume(2, 0x3000, old)
			s.begun(s.at, ended, true)
			s.run(ret, ended, old+8)
			s.call(0x3400) // which pushes where the first address was
			s.call(0x3500)
			from(0x3300)
			s.run(other, 0x3301, system)
			resume(2, 0x3000, old)
			s.begun(s.at, ended, true)
		}, []uint64{0x3000, ended}},
		{"and the first", func() {
			from(0x3300)
			s.run(other, 0x3301, system)
			resume(1, 0x310f, grown-8)
		}, []uint64{0x310f, 0x3005, ended}},
		{"calls C", func() { s.call(callsC); s.run(other, callsC+1, system); s.call(0x4000) },
			[]uint64{0x4000, callsC + 6, 0x3114, 0x3005, ended}},
		{"which calls back", func() { s.call(callsGo); s.run(other, callsGo+1, grown-64); s.call(0x8000) },
			[]uint64{0x8000, callsGo + 6, 0x4005, callsC + 6, 0x3114, 0x3005, ended}},
		{"waits there", func() {
			s.call(0x8100)
			s.run(other, 0x8101, system-16)
			s.call(scheduler)
		}, []uint64{scheduler, 0x8106, 0x4005, callsC + 6, 0x3114, 0x3005, ended}},
		{"goes on", func() { s.run(ret, 0x8106, system-16); resume(1, 0x8005, grown-72) },
			[]uint64{0x8005, callsGo + 6, 0x4005, callsC + 6, 0x3114, 0x3005, ended}},
		{"and returns", func() {
			s.run(ret, callsGo+6, grown-64)
			from(callsGo)
			s.run(other, callsGo+6, system-16)
		}, []uint64{callsGo + 6, 0x4005, callsC + 6, 0x3114, 0x3005, ended}},
		{"as does C", func() {
			s.run(ret, 0x4005, system-8)
			s.run(ret, callsC+6, system)
			from(callsC)
			s.run(other, callsC+6, grown-16)
		}, []uint64{callsC + 6, 0x3114, 0x3005, ended}},
	})
}

// Where calls leave the return address in a register, a handler that makes the interrupted code call something leaves
// that word on the stack.
func TestTruthCalledByHandler(t *testing.T) {
	s := newScript()
	s.link = true
	s.run(call, 0x2000, 0x8000)
	s.interrupt(point{0x4000, 0x7e00})
	s.sigreturned(point{0x5000, 0x8000 - linkRoom}, 0x2000)
	if got := s.chain(nil, s.at.pc); !slices.Equal(got, []uint64{0x5000, 0x2000, 0x1005}) {
		t.Errorf("called: got %s", hexes(got))
	}
	s.run(adjust, 0x5004, 0x8000)
	s.run(ret, 0x2000, 0x8000)
	if got := s.chain(nil, s.at.pc); !slices.Equal(got, []uint64{0x2000, 0x1005}) || s.inJump {
		t.Errorf("returned: got %s", hexes(got))
	}
}

func TestTruthCloneIsApart(t *testing.T) {
	s := newScript()
	s.call(0x2000)
	child := s.clone()
	child.step(instruction{kind: call, len: 5}, s.at, point{0x3000, s.at.sp - 8})
	if got := s.chain(nil, s.at.pc); !slices.Equal(got, []uint64{0x2000, 0x1005}) {
		t.Errorf("parent after the child's call: got %s", hexes(got))
	}
}

func hexes(v []uint64) string { return fmt.Sprintf("%#x", v) }
