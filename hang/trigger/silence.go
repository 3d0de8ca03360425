package trigger

import "time"

// silence watches for a time without output.
type silence struct {
	length time.Duration
	since  time.Time // when there was output, or we began; zero before the first check
	mark   uint64
	blind  bool // that outputs cannot be seen was said
}

func (s *silence) reset() { s.since = time.Time{} }

// check reports whether there was no output for the length. What cannot be seen is not silent.
func (s *silence) check(now time.Time, from Source, say func(string)) bool {
	mark, late, ok := from.Output()
	switch {
	case !ok && !s.blind:
		s.blind = true
		say("--idle-output has no effect: nobody whose counters may be read has the output open")
		fallthrough
	case !ok, s.since.IsZero(), mark != s.mark:
		s.since, s.mark = now, mark
		return false
	}
	return now.Sub(s.since) >= s.length+late
}
