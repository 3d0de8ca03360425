package unwind

// stepBySP steps by what the instructions from the function's beginning say of SP: the way out where
// a table's CFA rests on a register that is not known, mostly the frame pointer.
func (c *cursor) stepBySP(s *site) bool {
	c.reread(s)
	if !s.bySPRead {
		c.readBySP(s)
	}
	return s.bySP != nil && c.apply(s.bySP, mustReturn) == nil
}

// readBySP fills s.bySP.
func (c *cursor) readBySP(s *site) {
	s.bySPRead = true
	if !hasCode(c.arch) {
		return
	}
	f := c.top()
	code, bias, ok := c.codeAt(f.LookupPC(), f.Module)
	if !ok {
		return
	}
	start, end, known := c.bounds(f, bias)
	if !known {
		return
	}
	if row, ok := code.FromEntrySP(start, end, uint64(f.LookupPC())-bias); ok {
		r := c.compile(&row, Code)
		s.bySP = &r
	}
}
