package dwarf

// value is one attribute as it is in the entry.
type value struct {
	form uint16 // 0: the entry has no such attribute
	u    uint64 // constant, offset, index, address; of an inline string its offset in the section
}

func (v value) ok() bool { return v.form != 0 }

// step is one stretch of an entry's attributes, for going over them without decoding.
type step struct {
	op stepOp
	n  uint32 // bytes of stepFixed and stepSibling
}

type stepOp uint8

const (
	stepFixed   stepOp = iota // n bytes
	stepLEB                   // one LEB128
	stepString                // to the zero byte
	stepBlock                 // length of n bytes, contents
	stepBlockU                // length as LEB128, contents
	stepForm                  // DW_FORM_indirect
	stepSibling               // a reference of n bytes that is DW_AT_sibling
	stepUSib                  // the same as LEB128
	stepUnknown               // nobody knows how long it is
)

// layout is what the sizes of forms depend on.
type layout struct {
	addrSize, offSize, refAddr uint8
}

// stepOf says how to go over an attribute. Source: DWARF 5, 7.5.5 and 7.5.6.
func (l layout) stepOf(form uint16) step {
	switch form {
	case formFlagPresent, formImplicitConst:
		return step{stepFixed, 0}
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return step{stepFixed, 1}
	case formData2, formRef2, formStrx2, formAddrx2:
		return step{stepFixed, 2}
	case formStrx3, formAddrx3:
		return step{stepFixed, 3}
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return step{stepFixed, 4}
	case formData8, formRef8, formRefSig8, formRefSup8:
		return step{stepFixed, 8}
	case formData16:
		return step{stepFixed, 16}
	case formAddr:
		return step{stepFixed, uint32(l.addrSize)}
	case formRefAddr:
		return step{stepFixed, uint32(l.refAddr)}
	case formStrp, formSecOffset, formStrpSup, formLineStrp, formGNURefAlt, formGNUStrpAlt:
		return step{stepFixed, uint32(l.offSize)}
	case formSData, formUData, formRefUData, formStrx, formAddrx, formLocListx, formRngListx,
		formGNUAddrIndex, formGNUStrIndex:
		return step{stepLEB, 0}
	case formString:
		return step{stepString, 0}
	case formBlock1:
		return step{stepBlock, 1}
	case formBlock2:
		return step{stepBlock, 2}
	case formBlock4:
		return step{stepBlock, 4}
	case formBlock, formExprLoc:
		return step{stepBlockU, 0}
	case formIndirect:
		return step{stepForm, 0}
	}
	return step{stepUnknown, 0}
}

// read reads one attribute's value. A form that is not known sets r.bad.
func (l layout) read(r *reader, form uint16, implicit int64) value {
	if form == formIndirect {
		next := r.uleb()
		if next == formIndirect || next == formImplicitConst || next > 0xffff { // 7.5.3 allows neither
			r.fail()
			return value{}
		}
		form = uint16(next)
	}
	v := value{form: form}
	switch s := l.stepOf(form); s.op {
	case stepFixed:
		switch {
		case form == formImplicitConst:
			v.u = uint64(implicit)
		case form == formFlagPresent:
			v.u = 1
		case s.n == 16: // a checksum: no one asks for it
			r.skip(16)
		default:
			v.u = r.uint(int(s.n))
		}
	case stepLEB:
		if form == formSData {
			v.u = uint64(r.sleb())
		} else {
			v.u = r.uleb()
		}
	case stepString:
		v.u = uint64(r.off)
		r.skipString()
	case stepBlock:
		r.skip(r.uint(int(s.n)))
	case stepBlockU:
		r.skip(r.uleb())
	default:
		r.fail()
	}
	return v
}

// pass goes over the attributes that steps describe, in b from off on. sibling is what
// DW_AT_sibling says, 0 if there is none. It is the innermost loop of all, so it works on
// bytes and not on a reader.
func (l layout) pass(steps []step, b []byte, off int, big bool) (next int, sibling uint64, ok bool) {
	for _, s := range steps {
		switch s.op {
		case stepFixed:
			off += int(s.n)
		case stepLEB:
			for off < len(b) && b[off] >= 0x80 {
				off++
			}
			off++
		case stepString:
			for off < len(b) && b[off] != 0 {
				off++
			}
			off++
		default:
			r := reader{b: b, off: min(off, len(b)), big: big}
			if at := l.odd(s, &r); at != 0 {
				sibling = at
			}
			if r.bad {
				return off, 0, false
			}
			off = r.off
		}
		if off > len(b) {
			return off, 0, false
		}
	}
	return off, sibling, true
}

// odd goes over what pass meets more seldom.
func (l layout) odd(s step, r *reader) (sibling uint64) {
	switch s.op {
	case stepSibling:
		return r.uint(int(s.n))
	case stepUSib:
		return r.uleb()
	case stepBlock:
		r.skip(r.uint(int(s.n)))
	case stepBlockU:
		r.skip(r.uleb())
	case stepForm:
		l.read(r, formIndirect, 0)
	default:
		r.fail()
	}
	return 0
}
