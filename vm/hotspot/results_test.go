package hotspot

import (
	"testing"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// TestFramePointers: frames of the interpreter are found on recorded stacks, whoever called them.
func TestFramePointers(t *testing.T) {
	found := map[string]int{}
	for _, prefix := range []string{"ring-", "chaos-", "arm64-"} {
		open(t, prefix, func(name string, p *process) {
			r := p.begin(p.running)
			for i, s := range p.stacks(r, p.running, same) {
				th := &p.Threads[i]
				g := &graph{r: r, j: r.jvm.Load(), threads: []*snapshot.Thread{th},
					views: []view.View{view.Over(p.Reader(th, p.running), p.running, nil)}}
				for k, l := range s.logical {
					f := &s.Frames[k]
					if len(l) != 1 || l[0].Tier != interpreterTier || f.Interrupted || k+1 == len(s.Frames) ||
						f.CFA >= th.Stack.End() {
						continue
					}
					fp, ok := g.framePointer(0, f.CFA, s.Frames[k+1].PC)
					ra, _ := g.views[0].Word(fp + wordSize)
					if !ok || r.unsigned(ra) != s.Frames[k+1].PC {
						t.Errorf("%s: the frame of %s, called at %#x, is not found: %#x", name, l[0].Func,
							uint64(s.Frames[k+1].PC), uint64(fp))
						continue
					}
					found[th.Arch.Name]++
				}
			}
		})
	}
	if len(found) != 2 {
		t.Errorf("frames of the interpreter: %v, want some of two machines", found)
	}
	t.Log(found)
}
