package emulate

import "github.com/fpstack/fpstack/code/x86"

// size is the size of the operands of an instruction that is not for bytes.
func size(in *x86.Instruction) int {
	switch {
	case in.Wide:
		return 8
	case in.Small:
		return 2
	}
	return 4
}

// sized is the size of the operands where the lowest bit of the opcode tells bytes from others.
func sized(in *x86.Instruction) int {
	if in.Op&1 == 0 {
		return 1
	}
	return size(in)
}

// cut is v as an integer of size bytes, and extend the same with its sign.
func cut(v uint64, size int) uint64 {
	if size == 8 {
		return v
	}
	return v & (1<<(8*size) - 1)
}

func extend(v uint64, size int) uint64 {
	switch size {
	case 1:
		return uint64(int8(v))
	case 2:
		return uint64(int16(v))
	case 4:
		return uint64(int32(v))
	}
	return v
}

// address is that of the operand in memory.
func (m *Machine) address(in *x86.Instruction) uint64 {
	a := uint64(in.Disp)
	switch {
	case in.Base == x86.RelativeBase:
		a += m.next
	case in.Base >= 0:
		a += m.R[in.Base]
	}
	if in.Index >= 0 {
		a += m.R[in.Index] << in.Scale
	}
	return a
}

// at is address, with the base of FS where the instruction has it. It is touched.
func (m *Machine) at(in *x86.Instruction) uint64 {
	m.Touched = m.address(in)
	if in.FS {
		m.Touched += m.TP
	}
	return m.Touched
}

// isHigh reports whether register r of an instruction for bytes is the second byte of one: ah, ch, dh, bh.
func isHigh(in *x86.Instruction, r uint8, size int) bool {
	return size == 1 && !in.REX && r >= 4 && r < 8
}

func (m *Machine) register(in *x86.Instruction, r uint8, size int) uint64 {
	if isHigh(in, r, size) {
		return m.R[r-4] >> 8 & 0xff
	}
	return cut(m.R[r], size)
}

func (m *Machine) setRegister(in *x86.Instruction, r uint8, size int, v uint64) {
	switch {
	case isHigh(in, r, size):
		m.R[r-4] = m.R[r-4]&^0xff00 | v&0xff<<8
	case size >= 4:
		m.R[r] = cut(v, size) // the upper half becomes 0
	default:
		m.R[r] = m.R[r]&^cut(^uint64(0), size) | cut(v, size)
	}
}

// rm and setRM are the operand that is a register or memory.
func (m *Machine) rm(in *x86.Instruction, size int) uint64 {
	if in.IsMem {
		return m.load(m.at(in), size)
	}
	return m.register(in, in.RM, size)
}

func (m *Machine) setRM(in *x86.Instruction, size int, v uint64) {
	if in.IsMem {
		m.store(m.at(in), size, v)
		return
	}
	m.setRegister(in, in.RM, size, v)
}

func (m *Machine) reg(in *x86.Instruction, size int) uint64 { return m.register(in, in.Reg, size) }

func (m *Machine) setReg(in *x86.Instruction, size int, v uint64) { m.setRegister(in, in.Reg, size, v) }

func (m *Machine) push(v uint64) {
	if m.store(m.R[RSP]-8, 8, v); m.fault == nil {
		m.R[RSP] -= 8
	}
}

func (m *Machine) pop() uint64 {
	v := m.load(m.R[RSP], 8)
	if m.fault == nil {
		m.R[RSP] += 8
	}
	return v
}
