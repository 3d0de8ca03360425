package x86

// call follows a direct call. It reports whether p goes on by itself.
func (w *walk) call(p *path, next, target uint64) bool {
	if target == next { // call 1f; 1: pop: position-independent 386 code, no frame
		p.State.push(value{}, w.c.word())
		p.PC = next
		return true
	}
	if w.c.isSpeculationTrap(next) {
		// Retpoline or return thunk: the word that this call pushes is dropped or replaced.
		inner := p.State.clone()
		inner.push(value{}, w.c.word())
		w.Add(path{PC: target, State: inner, Calls: p.Calls})
	}
	if r, ok := w.c.loadsPC(target); ok {
		p.State.set(r, value{}) // and nothing else: gcc counts on it
		p.PC = next
		return true
	}
	p.State.afterCall(w.c.Mode64)
	if !w.c.Mode64 {
		if n := w.calleePops(target); n != 0 {
			p.State.set(rsp, p.State.regs[rsp].plus(n))
		}
	}
	w.behindCall(p, next)
	return false
}

// behindCall opens the code behind a call.
func (w *walk) behindCall(p *path, next uint64) { w.BehindCall(p, next, w.jumps) }

// jumps lists where direct jumps of the function lead.
func (w *walk) jumps() (targets []uint64) {
	for at := w.Sweep[0]; at < w.Sweep[1] && w.left.Spend(decodeCost); {
		in, ok := w.c.decode(at)
		if !ok {
			at++ // data between code
			continue
		}
		at += uint64(in.n)
		if f := in.flow(); f == flowJump || f == flowCond {
			targets = append(targets, w.c.target(at, in.imm))
		}
	}
	return targets
}

// isSpeculationTrap reports whether pc begins the loop that catches speculation in
// retpolines and return thunks: pause or lfence, or int3.
func (c *Code) isSpeculationTrap(pc uint64) bool {
	b := c.at(pc)
	return hasPrefix(b, 0xf3, 0x90) || hasPrefix(b, 0x0f, 0xae, 0xe8) || hasPrefix(b, 0xcc)
}

// loadsPC recognises __x86.get_pc_thunk.REG of 386 code, `mov (%esp), REG; ret`, which
// does not keep the register.
func (c *Code) loadsPC(target uint64) (register, bool) {
	b := c.at(target)
	if c.Mode64 || len(b) < 4 || b[0] != 0x8b || b[1]&0xc7 != 0x04 || b[2] != 0x24 || b[3] != 0xc3 {
		return noReg, false
	}
	return register(b[1] >> 3 & 7), true
}

// maxCallee bounds the instructions of a callee that are read for its return instruction.
const maxCallee = 2000

// calleePops returns how many bytes of arguments the function at target removes: the
// operand of the first return instruction after it. Functions of the i386 ABI that
// return a structure remove 4 (section 2.2.4). Jumps are followed, conditional ones not.
func (w *walk) calleePops(target uint64) int64 {
	if n, ok := w.pops[target]; ok {
		return n
	}
	if w.pops == nil {
		w.pops = map[uint64]int64{}
	}
	w.pops[target] = 0
	pc := target
	for range maxCallee {
		if w.calleeSteps++; w.calleeSteps > maxSteps || !w.left.Spend(decodeCost) {
			return 0
		}
		in, ok := w.c.decode(pc)
		if !ok {
			return 0
		}
		pc += uint64(in.n)
		switch in.flow() {
		case flowReturn:
			if in.op == 0xc2 {
				w.pops[target] = in.imm & 0xffff
			}
			return w.pops[target]
		case flowJump:
			pc = w.c.target(pc, in.imm)
		case flowEnd, flowIndirect, flowSlot:
			return 0
		}
	}
	return 0
}

func hasPrefix(b []byte, want ...byte) bool {
	return len(b) >= len(want) && string(b[:len(want)]) == string(want)
}
