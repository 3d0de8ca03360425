package coreclr

import "github.com/fpstack/fpstack/snapshot"

// Copy implements [snapshot.Copier].
func (r *Runtime) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {}
