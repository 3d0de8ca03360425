package emulate

// ISA is the instructions that a Machine runs, and how functions are called: [AMD64] or [ARM64].
type ISA struct {
	// step runs the instruction at PC, and sets next. It is false for one that is not known, and gives its code.
	step func(m *Machine) (known bool, code []byte)
	// arguments are the registers of the first integer arguments, result that of what is returned.
	arguments  []int
	result, sp int
	// link is the register of the return address, -1 where that is pushed.
	link int
}

// AMD64 is as the System V ABI has it, 3.2.3.
var AMD64 = &ISA{step: (*Machine).stepAMD64, arguments: []int{RDI, RSI, RDX, RCX}, result: RAX, sp: RSP, link: -1}

// Argument is the integer argument with a number, 0 for the first, where a function begins; there are four.
func (m *Machine) Argument(number int) uint64 { return m.R[m.ISA.arguments[number]] }

// SetResult sets what a function gives back, an integer.
func (m *Machine) SetResult(v uint64) { m.R[m.ISA.result] = v }

// Result is what a function that has returned gives back, if that is an integer.
func (m *Machine) Result() uint64 { return m.R[m.ISA.result] }

// SP is the stack pointer.
func (m *Machine) SP() uint64 { return m.R[m.ISA.sp] }

// CFA is what the stack pointer is when a function that has just been called has returned.
func (m *Machine) CFA() uint64 {
	if m.ISA.link >= 0 {
		return m.SP()
	}
	return m.SP() + 8
}

// ReturnAddress is where a function that has just been called returns to.
func (m *Machine) ReturnAddress() uint64 {
	if m.ISA.link >= 0 {
		return m.R[m.ISA.link]
	}
	ret, _ := m.Word(m.SP())
	return ret
}

// Begin makes the machine ready to run the function at PC function, with that stack, a multiple of 16: it returns to
// end. All registers are 0 but those of arguments.
func (m *Machine) Begin(function, stack, end uint64, arguments ...uint64) bool {
	m.R, m.X, m.Flags = [32]uint64{}, [32]Vector{}, Flags{}
	m.loads, m.reserved = [32]loaded{}, false
	for i, v := range arguments {
		m.R[m.ISA.arguments[i]] = v
	}
	m.PC, m.R[m.ISA.sp] = function, stack
	if m.ISA.link >= 0 {
		m.R[m.ISA.link] = end
		return m.fault == nil
	}
	m.R[m.ISA.sp] = stack - 8
	return m.SetWord(stack-8, end)
}

// enter enters the function at to, which a word at slot led to: 0 for none.
func (m *Machine) enter(to, slot uint64) {
	if m.fault != nil {
		return
	}
	m.next, m.PC = to, to
	if m.Call != nil && m.Call(slot) && m.fault == nil {
		m.leave()
	}
}

// leave goes on behind the call of the function that is at hand, as if it had run.
func (m *Machine) leave() {
	if m.ISA.link < 0 {
		m.ret(0)
		return
	}
	m.returned(m.R[m.ISA.link])
}

// returned goes on at to, where a function has returned to.
func (m *Machine) returned(to uint64) {
	m.next, m.PC = to, to
	if m.Return != nil {
		m.Return()
	}
}
