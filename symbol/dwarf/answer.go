package dwarf

// answer puts together the calls at every address of the search, by their number in the list
// of all.
func (s *search) answer(out [][]Call) {
	lines := s.u.lineTable()
	for i, chain := range s.chains {
		at := s.rows[i]
		if len(chain) == 0 && !at.ok {
			continue
		}
		file, line := "", 0
		if at.ok {
			file, line = lines.path(at.file), at.line
		}
		calls := make([]Call, 0, max(len(chain), 1))
		for j := len(chain) - 1; j >= 0; j-- {
			sc := &chain[j]
			info := s.scopes[sc.entryAt]
			c := Call{Name: info.name.String(), Linkage: info.name.linkage, File: file, Line: line}
			if !sc.inline {
				c.Start, c.HasStart = sc.start, sc.known
			}
			calls = append(calls, c)
			// The caller is at the place of the call. Files of a split unit too are those of
			// its skeleton's table (DWARF 5, 7.3.2.2).
			file, line = lines.path(info.callFile), lineNumber(int64(info.callLine))
		}
		if len(chain) == 0 {
			calls = append(calls, Call{File: file, Line: line})
		}
		out[s.number[i]] = calls
	}
}
