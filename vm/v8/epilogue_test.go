package v8

import (
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/vm/view"
)

// TestEpilogue executes what V8's code ends with from each of its instructions on: all lead to the same caller.
func TestEpilogue(t *testing.T) {
	const stack, caller, callerFP = 0x7ff000, 0x5000, 0x7ff200
	frame := func() (*memory.Image, regs.Registers) {
		m := memory.NewImage(stack, 8, order)
		m.Skip(2).Label("fp").Word(callerFP).Label("ra").Word(caller).Label("args").Skip(8)
		r := regs.New(regs.AMD64)
		r.Set(regs.AMD64RSP, stack)
		r.Set(regs.AMD64RBP, uint64(m.Addr("fp")))
		r.Set(regs.AMD64RCX, 2)
		return m, r
	}
	for _, tc := range []struct {
		name string
		code []byte
		// given up says after how many bytes the frame is, popped after how many the return address is in r10.
		given, popped, pushed int
	}{
		{"leave; ret", []byte{0xc9, 0xc3}, 1, 99, 99},
		{"mov rsp, rbp; pop rbp; ret 16", []byte{0x48, 0x8b, 0xe5, 0x5d, 0xc2, 0x10, 0}, 4, 99, 99},
		{"surplus arguments", []byte{0x48, 0x8b, 0xe5, 0x5d, 0x48, 0x83, 0xf9, 2, 0x7f, 3, 0xc2, 0x10, 0}, 4, 99, 99},
		{"surplus arguments, Maglev", []byte{0x48, 0x8b, 0xe5, 0x5d, 0x49, 0x83, 0xf8, 2, 0x0f, 0x8f, 3, 0, 0, 0,
			0xc2, 0x10, 0}, 4, 99, 99},
		{"dropped arguments", []byte{0xc9, 0x41, 0x5a, 0x48, 0x8d, 0x24, 0xcc, 0x41, 0x52, 0xc3, 0, 0, 0, 0}, 1, 3, 9},
	} {
		for at := 0; at < len(tc.code); {
			image, r := frame()
			m := image.Range()
			if at > 0 && at < tc.given { // mov rsp, rbp
				r.Set(regs.AMD64RSP, uint64(image.Addr("fp")))
			}
			if at >= tc.given {
				r.Set(regs.AMD64RBP, callerFP)
				r.Set(regs.AMD64RSP, uint64(image.Addr("ra")))
			}
			if at >= tc.popped && at < tc.pushed {
				r.Set(regs.AMD64R10, caller)
				r.Set(regs.AMD64RSP, uint64(image.Addr("args")))
			}
			e := epilogue{now: r, v: reader(m)}
			if !e.run(tc.code[at:]) {
				t.Errorf("%s from %d: no epilogue", tc.name, at)
			}
			pc, _ := e.now.PC()
			fp, _ := e.now.FP()
			if sp, _ := e.now.SP(); pc != caller || fp != callerFP || sp < image.Addr("args") {
				t.Errorf("%s from %d: pc %#x, rbp %#x, rsp %#x; want %#x, %#x, above %#x", tc.name, at, uint64(pc),
					uint64(fp), uint64(sp), caller, callerFP, uint64(image.Addr("ra")))
			}
			one := epilogue{now: r, v: reader(m)}
			n, returned, ok := one.step(tc.code[at:])
			if !ok || returned {
				break
			}
			at += n
		}
	}
	for _, code := range [][]byte{nil, {0x90}, {0x5d}, {0x48, 0x83}, {0x48, 0x83, 0xc4}, {0x41},
		{0xe8, 0, 0, 0, 0, 0xc3}} {
		image, r := frame()
		if e := (epilogue{now: r, v: reader(image.Range())}); e.run(code) {
			t.Errorf("%x is taken for an epilogue", code)
		}
	}
}

func reader(r ...mem.Range) *view.View {
	v := view.Copied(nil, r...)
	return &v
}

// FuzzEpilogue: no code and no register makes it panic or run for ever.
func FuzzEpilogue(f *testing.F) {
	f.Add([]byte{0xc9, 0x41, 0x5a, 0x4a, 0x8d, 0x64, 0xf4, 8, 0x41, 0x52, 0xc3}, uint64(0x1000))
	f.Fuzz(func(t *testing.T, code []byte, v uint64) {
		r := regs.New(regs.AMD64)
		for _, reg := range numbered {
			r.Set(reg, v)
		}
		e := epilogue{now: r, v: reader(mem.Range{Start: 0x1000, Data: code})}
		e.run(code)
	})
}
