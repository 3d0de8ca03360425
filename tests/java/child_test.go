//go:build linux && (amd64 || arm64)

package java

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/walked"
)

// TestChild: who waits in Java for a process that it has started waits for the thread that waits for that process in
// the kernel. Up to JDK 17 the object that it waits on says which process it is; later it is known if there is one.
func TestChild(t *testing.T) {
	for _, version := range versions(t) {
		for _, children := range []int{1, 2} {
			if n, _ := strconv.Atoi(version); n > 17 && children > 1 {
				continue
			}
			t.Run(fmt.Sprint(version, "/", children), func(t *testing.T) {
				p := start(t, version, "-Djdk.lang.Process.launchMechanism=FORK", "Child", fmt.Sprint(children))
				var got []string
				want := []string{"waits-0", "waits-1"}[:children]
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); walked.Pause(1) {
					shot := p.dumped(t)
					facts := p.Runtimes.ThreadFacts(shot)
					_, all := p.locks(shot)
					got = nil
					for _, l := range all {
						if !strings.HasPrefix(l.Name, "the end of ") || l.Owner == 0 {
							continue
						}
						for _, w := range l.Waiters {
							got = append(got, facts[w].Name)
						}
						for i := range shot.Threads {
							th := &shot.Threads[i]
							pid := strings.TrimPrefix(l.Name, "the end of process ")
							if th.TID == l.Owner && pid != l.Name && (th.Syscall == nil ||
								!slices.Contains(th.Syscall.Args[:2], number(pid))) {
								t.Errorf("%s is what thread %d %q waits for", l.Name, th.TID, th.Comm)
							}
						}
					}
					if slices.Sort(got); slices.Equal(got, want) {
						break
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}
