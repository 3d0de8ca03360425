//go:build linux

package dotnet

import (
	"fmt"
	"strings"
	"testing"
)

// TestThreadNames: a thread has the name that the program gave it, and its number.
func TestThreadNames(t *testing.T) {
	for _, version := range folders() {
		t.Run(version, func(t *testing.T) {
			s := startShapes(t, version, "named", "generic")
			shot := s.Stop(t)
			facts := s.Runtimes.ThreadFacts(shot)
			named, generic := 0, 0
			for i := range shot.Threads {
				th := &shot.Threads[i]
				f := facts[th.TID]
				switch {
				case strings.HasPrefix(f.Name, "named"):
					if want := fmt.Sprintf("named: thread number %d \u00e4\U0001f600", f.ID); f.Name != want {
						t.Errorf("thread %d is %q, want %q", f.ID, f.Name, want)
					}
					named++
				case th.Comm == "generic":
					if f.Name != "generic" || f.ID == 0 {
						t.Errorf("thread %q is %+v", th.Comm, f)
					}
					generic++
				case th.TID == s.PID():
					if f.ID != 1 || f.Name != "" {
						t.Errorf("the first thread is %+v", f)
					}
				}
			}
			if named != 1 || generic != 1 {
				t.Errorf("%d threads are called by their number, %d generic, want 1 and 1", named, generic)
			}
		})
	}
}

// TestNamesOfServers: of each thread of a server that has a managed name the kernel has the beginning of it; numbers
// are those of one thread each.
func TestNamesOfServers(t *testing.T) {
	const kernelName = 15
	for _, version := range versions(t) {
		if !*full && version != "8.0.30" && version != "10.0.9" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			s := start(t, version)
			shot := s.Stop(t)
			facts := s.Runtimes.ThreadFacts(shot)
			numbers := map[uint64]int{}
			named := 0
			for i := range shot.Threads {
				th := &shot.Threads[i]
				f, ok := facts[th.TID]
				if !ok {
					continue
				}
				if f.Language != ".NET" || f.ID == 0 || numbers[f.ID] != 0 {
					t.Errorf("thread %d is %+v, and %d has that number", th.TID, f, numbers[f.ID])
				}
				numbers[f.ID] = th.TID
				if f.Name == "" {
					continue
				}
				named++
				if want := f.Name[:min(len(f.Name), kernelName)]; th.Comm != want {
					t.Errorf("thread %d is %q to the kernel and %q to .NET", th.TID, th.Comm, f.Name)
				}
			}
			if numbers[1] != s.PID() || named < 2 {
				t.Errorf("thread 1 is %d, want %d; %d threads have a name", numbers[1], s.PID(), named)
			}
		})
	}
}
