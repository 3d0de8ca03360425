//go:build linux && (amd64 || arm64)

package java

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Lines of jstack: `"l-1" #14 daemon prio=5 …`, `	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)`.
var (
	jstackThread = regexp.MustCompile(`^"(.*)" #\d+ `)
	jstackFrame  = regexp.MustCompile(`^\tat (?:[a-z.]+@[^/]+/)?(\S+)\(([^)]*)\)$`)
	hiddenClass  = regexp.MustCompile(`[+/]0x[0-9a-f]+`)
)

// jstacks are the stacks of threads as jstack shows them, by their names, each frame as "class.method file:line".
func jstacks(text string) map[string][]string {
	out := map[string][]string{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := jstackThread.FindStringSubmatch(line); m != nil {
			name = m[1]
		} else if m := jstackFrame.FindStringSubmatch(line); m != nil {
			place := m[2]
			if i := strings.LastIndex(place, "/"); i >= 0 {
				place = place[i+1:]
			}
			if !strings.Contains(place, ":") { // native methods, and those without a file
				place = ""
			}
			out[name] = append(out[name], strings.TrimSpace(hiddenClass.ReplaceAllString(m[1], "")+" "+place))
		}
	}
	return out
}

// TestJstack: threads that wait for one another have the frames that jstack shows, each with its line, and their names.
func TestJstack(t *testing.T) {
	versions(t) // skips without a JVM
	jstack := strings.TrimSuffix(jvms()["17"][0], "java") + "jstack"
	if !exists(jstack) {
		t.Skipf("%s is not there: scripts/setup installs openjdk-17-jdk-headless", jstack)
	}
	p := start(t, "17", "Dead")
	var wrong []string
	compared := 0
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		out, err := exec.Command(jstack, fmt.Sprint(p.pid)).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := jstacks(string(out))
		shot := p.dumped(t)
		facts := p.Runtimes.ThreadFacts(shot)
		wrong, compared = nil, 0
		for i := range shot.Threads {
			name := facts[shot.Threads[i].TID].Name
			frames, ok := want[name]
			if !ok || name == "spins" || name == "Signal Dispatcher" || strings.Contains(name, "Attach") {
				continue
			}
			s := p.Stack(shot, i)
			var got []string
			for _, f := range javaFrames(&s) {
				place := ""
				if f.Line > 0 {
					place = fmt.Sprintf(" %s:%d", f.File, f.Line)
				}
				got = append(got, f.Func+place)
			}
			if compared++; !slices.Equal(got, frames) {
				wrong = append(wrong, fmt.Sprintf("%s: got %q, jstack has %q", name, got, frames))
			}
		}
		if len(wrong) == 0 && compared >= 14 {
			break
		}
	}
	t.Logf("%d threads", compared)
	if len(wrong) > 0 || compared < 14 {
		t.Errorf("%d threads compared, not equal: %s", compared, strings.Join(wrong, "\n"))
	}
}
