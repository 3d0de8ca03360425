package hang

// Clear reports whether a case says what it will say after further moments too: nothing ran, or what did is plain.
func Clear(c *Case) bool {
	switch v := Judge(c); v.Kind {
	case Deadlock, Halted:
		return true
	case Moving:
		const plain = 0.2 // of a CPU
		t := v.Culprit
		if t == nil {
			return false
		}
		did := c.did(t.TID)
		return did.share(did.cpu) >= plain
	case Waiting:
		for i := range v.Threads {
			if class := v.Threads[i].Class; class != Blocked && class != InDisk && class != Still {
				return false
			}
		}
		return true
	}
	return false
}
