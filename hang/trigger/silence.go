package trigger

import "time"

// silence watches for a time without output.
type silence struct {
	length time.Duration
	since  time.Time // when there was output, or we began; zero before the first check
	last   Output
	blind  bool // that outputs cannot be seen was said
}

func (s *silence) reset() { s.since = time.Time{} }

// check reports whether there was no output for the length. What cannot be seen is not silent.
func (s *silence) check(now time.Time, from Source, say func(string)) bool {
	out := from.Output()
	switch {
	case !out.Seen && !s.blind:
		s.blind = true
		say("--idle-output has no effect: nobody whose counters may be read has the output open")
		fallthrough
	case !out.Seen, s.since.IsZero(), out.since(&s.last):
		s.since, s.last = now, out
		return false
	}
	s.last = out // counts of who ends meanwhile are those of the last look
	return now.Sub(s.since) >= s.length+out.Late
}
