package dump

import (
	"encoding/json"
	"slices"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
)

// waitsContent is the name under which a saved file has who waits for whom, among the files that the process wrote: no
// process opens a file by such a path.
const waitsContent = "waits"

// savedWaits is what it holds, as JSON.
type savedWaits struct {
	Waits   *profile.Waits
	Threads map[int]*profile.Wait // by id
}

// Waits keeps who waits for whom in d, of the process at hand, until Finish: it was read of the living process, and no
// copy of its memory tells it.
func (s *Saver) Waits(d *profile.Dump) {
	kept := savedWaits{d.Waits, map[int]*profile.Wait{}}
	for i := range d.Threads {
		if t := &d.Threads[i]; t.Wait != nil {
			kept.Threads[t.TID] = t.Wait
		}
	}
	if d.Waits == nil {
		return
	}
	if b, err := json.Marshal(kept); err == nil && len(b) <= maxContents {
		s.contents = append(slices.Clip(s.contents), snapshot.Content{Path: waitsContent, Data: b})
	}
}

// restoreWaits puts who waits for whom into d, if the file has it. What is there and cannot be understood is a problem.
func restoreWaits(d *profile.Dump, contents []snapshot.Content) {
	for _, c := range contents {
		if c.Path != waitsContent {
			continue
		}
		var kept savedWaits
		if err := json.Unmarshal(c.Data, &kept); err != nil {
			d.Problems = append(d.Problems, "who waits for whom cannot be read: "+err.Error())
			return
		}
		d.Waits = kept.Waits
		for i := range d.Threads {
			d.Threads[i].Wait = kept.Threads[d.Threads[i].TID]
		}
	}
}
