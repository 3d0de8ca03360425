package perprocess

import (
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// maxThreadNames is how many names of threads a process may have: each is a series of the store.
const maxThreadNames = 30

// shortenNames takes the ids from the threads of p, a profile of one process, and makes their names few: where there
// are many those that differ in numbers alone are one, and where there are still many they have none.
func shortenNames(p *profile.Profile) {
	few := names(p, func(name string) string { return name })
	if few > maxThreadNames {
		few = names(p, withoutNumbers)
	}
	if few > maxThreadNames {
		names(p, func(string) string { return "" })
		p.Comments = append(p.Comments, "threads have too many names; none is kept")
	}
}

// names gives each thread of p another name, and returns how many there are.
func names(p *profile.Profile, rename func(string) string) int {
	distinct := map[string]bool{}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		t.PID, t.TID, t.Thread = 0, 0, rename(t.Thread)
		distinct[t.Thread] = true
	}
	return len(distinct)
}

// withoutNumbers has # for each run of digits: "worker-17" and "worker-4" are both "worker-#".
func withoutNumbers(name string) string {
	var b strings.Builder
	digits := false
	for _, c := range []byte(name) {
		is := c >= '0' && c <= '9'
		if is && !digits {
			b.WriteByte('#')
		}
		if digits = is; !is {
			b.WriteByte(c)
		}
	}
	return b.String()
}
