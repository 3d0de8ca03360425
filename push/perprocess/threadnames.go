package perprocess

import (
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// maxThreadNames is how many names of threads a process may have: each is a series of the store.
const maxThreadNames = 30

// shorterNames says what threads of one process, tasks of p, are shown as: without ids, and by few names. Where there
// are many those that differ in numbers alone are one, and where there are still many they have none, which comments
// say.
func shorterNames(p *profile.Profile, tasks []int) (as func(profile.Task) profile.Task, comments []string) {
	name := func(name string) string { return name }
	if moreNames(p, tasks, name) {
		if name = withoutNumbers; moreNames(p, tasks, name) {
			name = func(string) string { return "" }
			comments = []string{"threads have too many names; none is kept"}
		}
	}
	return func(t profile.Task) profile.Task {
		return profile.Task{Process: t.Process, Thread: name(t.Thread)}
	}, comments
}

// moreNames reports whether tasks of p have more names than they may, as name words them.
func moreNames(p *profile.Profile, tasks []int, name func(string) string) bool {
	if len(tasks) <= maxThreadNames {
		return false
	}
	distinct := map[string]bool{}
	for _, i := range tasks {
		if distinct[name(p.Tasks[i].Thread)] = true; len(distinct) > maxThreadNames {
			return true
		}
	}
	return false
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
