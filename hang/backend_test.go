package hang

import (
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestBackends: a backend of a database that waits for a lock leads to the one that is idle in a transaction, where it
// is one.
func TestBackends(t *testing.T) {
	idle := Process{PID: 100, Parent: 90, Name: "postgres", Backend: BackendInTransaction}
	other := Process{PID: 101, Parent: 90, Name: "postgres", Backend: BackendInTransaction}
	elsewhere := Process{PID: 102, Parent: 91, Name: "postgres", Backend: BackendInTransaction}
	for _, row := range []struct {
		name    string
		backend Backend
		among   []Process
		culprit int
		want    string
	}{
		{"one is idle in a transaction", BackendWaits, []Process{idle, elsewhere}, 100,
			"job (7) reads from unix /pg; the other end is postgres (99), outside this tree, which waits for a lock " +
				"held, it seems, by postgres (100), outside this tree, which is idle in a transaction"},
		{"two are", BackendWaits, []Process{idle, other}, 99, ""},
		{"it waits for no lock", NoBackend, []Process{idle}, 99, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := blockedOn(profile.Wait{Sort: profile.SortSocketData, Mode: profile.WaitAny, Made: true,
				Name: "unix /pg", Wakers: []profile.Waker{{PID: 99}}})
			c.Roots = []int{7}
			server := Process{PID: 99, Parent: 90, Name: "postgres", Backend: row.backend}
			c.Outside = append([]Process{server}, row.among...)
			for i := range c.Moments {
				c.Moments[i].Waits.Processes[0].Comm = "postgres"
				c.Moments[i].Waits.Threads[0].Wait = &profile.Wait{Sort: profile.SortSet, Mode: profile.WaitOutside}
			}
			v := Judge(c)
			if v.Kind != Waiting || v.Culprit == nil || v.Culprit.PID != row.culprit ||
				row.want != "" && v.Sentence != row.want {
				t.Errorf("got %s of %+v: %s\nwant %d: %s", v.Kind, v.Culprit, v.Sentence, row.culprit, row.want)
			}
		})
	}
}
