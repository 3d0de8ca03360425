package unwind_test

import (
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

// TestOwnStack: a frame is believed inside the stack that it is on. Where a runtime says what that is, its end is not
// the mapping's: what lies behind it, however good a frame record it makes, is another fiber's. A way to another stack
// (a signal's, the system's) is gone, and back, and the bounds hold again.
func TestOwnStack(t *testing.T) {
	const start, end = stackBase + 0x1000, stackBase + 0x1080
	own := mem.Span[mem.Addr]{Start: start, End: end}
	const rsp, rbp, ra = 7, 6, 16
	type registers = map[regs.Reg]uint64
	at := func(pc, sp uint64) registers { return registers{regs.AMD64RIP: pc, regs.AMD64RSP: sp} }
	for _, tc := range []struct {
		name    string
		draw    func(d *drawn) registers
		mapping string // what a walk shows that knows the mapping alone
		own     string
		err     string
	}{
		{"a frame record behind the end", func(d *drawn) registers {
			d.stack.Label("fp").Ref("other").Word(d.call(0x100)).Skip(16).Label("other").Word(0).Word(d.call(0x200))
			return registers{regs.AMD64RIP: 0x10800, regs.AMD64RSP: start, regs.AMD64RBP: start}
		}, "0x10800(context) 0x10100(frame pointer) 0x10200(frame pointer) root",
			"0x10800(context) 0x10100(frame pointer) bad CFA", "outside of the stack 0x7ffe1000-0x7ffe1080"},
		{"a frame record that ends with the stack", func(d *drawn) registers {
			d.stack.Skip(14).Label("fp").Word(0).Word(d.call(0x200))
			return registers{regs.AMD64RIP: 0x10800, regs.AMD64RSP: start, regs.AMD64RBP: uint64(d.stack.Addr("fp"))}
		}, "0x10800(context) 0x10200(frame pointer) root", "0x10800(context) 0x10200(frame pointer) root", ""},
		{"a row that leads behind the end", func(d *drawn) registers {
			d.tables = &ehFrame{order: d.arch.Order}
			cie := d.tables.cie("zR", ra, defCFA, rsp, 8, offset|ra, 1)
			d.tables.fde(cie, 0x10100, 16, defCFA, rsp, 0xa0, 1) // a frame of 160 bytes: uleb128 a0 01
			d.outermost(cie, 0x10200)
			d.stack.Skip(19).Word(d.call(0x208))
			return at(0x10108, start)
		}, "0x10108(context) 0x10208(cfi) root", "0x10108(context) bad CFA",
			"outside of the stack 0x7ffe1000-0x7ffe1080"},
		{"a signal on another stack", func(d *drawn) registers {
			d.put(0x300, restoreRT...)
			d.stack.Label("fp").Ref("other").Word(d.call(0x100)).Skip(16).Label("other").Word(0).Word(d.call(0x200))
			d.alt = memory.NewImage(altBase+0x1000, 8, d.arch.Order)
			d.alt.Skip(5).Skip(10).Word(start).Skip(4).Word(start).Word(0x10900) // rbp, rsp, rip of the ucontext
			return registers{regs.AMD64RIP: 0x10300, regs.AMD64RSP: altBase + 0x1000, regs.AMD64RBP: altBase}
		}, "0x10300(context) 0x10900(context) 0x10100(frame pointer) 0x10200(frame pointer) no rule",
			"0x10300(context) 0x10900(context) 0x10100(frame pointer) no rule",
			"outside of the stack 0x7ffe1000-0x7ffe1080"},
		{"a signal, whose context no frame pointer replaces", func(d *drawn) registers {
			d.put(0x300, restoreRT...)
			d.stack.Label("fp").Word(0).Word(d.call(0x200))
			d.alt = memory.NewImage(altBase+0x1000, 8, d.arch.Order)
			d.alt.Skip(5).Skip(10).Word(start).Skip(4).Word(start).Word(0x10900).Skip(3).
				Label("forged").Word(0).Word(d.call(0x100))
			return registers{regs.AMD64RIP: 0x10300, regs.AMD64RSP: altBase + 0x1000,
				regs.AMD64RBP: uint64(d.alt.Addr("forged"))}
		}, "0x10300(context) 0x10900(context) 0x10200(frame pointer) no rule",
			"0x10300(context) 0x10900(context) 0x10200(frame pointer) no rule",
			"code of no file, and the frame pointer is 0"},
		{"another stack, that the mapping bounds", func(d *drawn) registers {
			d.alt = memory.NewImage(altBase+0x1000, 8, d.arch.Order)
			d.alt.Word(altEnd).Word(d.call(0x100))
			return registers{regs.AMD64RIP: 0x10800, regs.AMD64RSP: altBase + 0x1000, regs.AMD64RBP: altBase + 0x1000}
		}, "0x10800(context) 0x10100(frame pointer) bad CFA", "0x10800(context) 0x10100(frame pointer) bad CFA",
			"outside of the stack 0x7ff00000-0x7ff10000"},
		{"code that is no code", func(d *drawn) registers {
			d.stack.Label("fp").Ref("fp2").Word(stackBase + 0x1040).Label("fp2").Word(0).Word(0)
			return registers{regs.AMD64RIP: 0x10800, regs.AMD64RSP: start, regs.AMD64RBP: start}
		}, "0x10800(context) no rule", "0x10800(context) no rule", "no executable mapping"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, way := range []struct {
				opt  unwind.Options
				want string
			}{{unwind.Options{}, tc.mapping}, {unwind.Options{Stack: own}, tc.own}} {
				d := newDrawn(regs.AMD64)
				set := tc.draw(d)
				if d.tables == nil && set[regs.AMD64RIP] == 0x10800 {
					way.opt.Mode = unwind.FramePointersOnly
				}
				s := d.walk(t, way.opt, set)
				if got := show(s); got != way.want || way.opt.Stack == own && (s.Err != nil) != (tc.err != "") ||
					s.Err != nil && way.opt.Stack == own && !strings.Contains(s.Err.Error(), tc.err) {
					t.Errorf("stack %v:\ngot  %s (%v)\nwant %s (%s)", way.opt.Stack, got, s.Err, way.want, tc.err)
				}
			}
		})
	}
}
