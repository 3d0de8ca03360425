package tokio

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
)

// waits says of f, of the task with that id, what it waits for: which object that is, and who has it.
func (w *listing) waits(f *snapshot.Fiber, c *wait, id uint64) {
	f.State, f.Wait, f.Timed, f.Object = c.awaits.text(), c.awaits.wait(), c.timed, uint64(c.object)
	if c.of != "" {
		f.State += "<" + c.of + ">"
	}
	if c.awaits == awaitedTask {
		return
	}
	f.HeldBy = w.has[c.object]
	switch n := len(f.HeldBy); {
	case slices.Contains(f.HeldBy, id):
		f.State += ", held by itself"
	case !c.awaits.isLock() || n == 0:
	case n == 1:
		f.State += fmt.Sprintf(", held by %s %d", profile.AsyncTask, f.HeldBy[0])
	default:
		f.State += fmt.Sprintf(", held by %d %ss", n, profile.AsyncTask)
	}
}
