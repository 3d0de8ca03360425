//go:build linux

package verdict

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// counts are how often each aspect was right, of how many.
type counts map[aspect]*struct{ right, all int }

func (c counts) add(what aspect, right bool) {
	if c[what] == nil {
		c[what] = &struct{ right, all int }{}
	}
	c[what].all++
	if right {
		c[what].right++
	}
}

// share is "41 of 42 (98 %)".
func (c counts) share(what aspect) string {
	n := c[what]
	if n == nil {
		return "none"
	}
	return fmt.Sprintf("%d of %d (%.1f %%)", n.right, n.all, 100*float64(n.right)/float64(n.all))
}

// miss is how often an aspect of a row was wrong, and how the last time.
type miss struct {
	times int
	last  string
}

// tally is what TestMatrix counts.
type tally struct {
	sync.Mutex
	states  map[state]counts
	wrong   map[string]map[aspect]*miss // by row
	longest int
	skipped []string
	files   int // kept
}

func (m *tally) add(r *row, found map[aspect]string, a *answer) {
	m.Lock()
	defer m.Unlock()
	if m.states[r.is.state] == nil {
		m.states[r.is.state] = counts{}
	}
	for what, wrong := range found {
		m.states[r.is.state].add(what, wrong == "")
		if wrong != "" {
			if m.wrong[r.name] == nil {
				m.wrong[r.name] = map[aspect]*miss{}
			}
			if m.wrong[r.name][what] == nil {
				m.wrong[r.name][what] = &miss{}
			}
			m.wrong[r.name][what].times++
			m.wrong[r.name][what].last = wrong + "; it says: " + a.Verdict.Sentence
			m.keep(r, a)
		}
	}
	m.longest = max(m.longest, len([]rune(a.Verdict.Sentence)))
}

// keep writes down a wrong answer, if that is asked for.
func (m *tally) keep(r *row, a *answer) {
	if *kept == "" {
		return
	}
	m.files++
	file := filepath.Join(*kept, fmt.Sprintf("%d %s.json", m.files, strings.ReplaceAll(r.name, "/", " ")))
	if err := os.WriteFile(file, []byte(a.text), 0o644); err != nil {
		fmt.Println(err)
	}
}

// TestMatrix counts what is right over -rounds of each row, and prints the table of docs/dev/verdicts.md and the rows
// that were wrong. It fails for none of them.
func TestMatrix(t *testing.T) {
	if !*matrix {
		t.Skip("counts over many rounds, by hand: -matrix")
	}
	if *load {
		keepBusy(t)
	}
	m := &tally{states: map[state]counts{}, wrong: map[string]map[aspect]*miss{}}
	t.Run("rows", func(t *testing.T) {
		for i := range rows {
			r := &rows[i]
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				t.Cleanup(func() {
					if t.Skipped() {
						m.Lock()
						m.skipped = append(m.skipped, r.name)
						m.Unlock()
					}
				})
				need(t, r.needs...)
				for found, a := range r.judge(t, *rounds) {
					m.add(r, found, a)
				}
			})
		}
	})
	m.print()
}

func (m *tally) print() {
	commit, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	average, _ := os.ReadFile("/proc/loadavg")
	beside := ""
	if *load {
		beside = fmt.Sprintf(", beside %d threads that compute", busy())
	}
	fmt.Printf("%s, %s, %d rows, %d rounds each%s; load average at the end %.11s on %d CPUs\n\n",
		strings.TrimSpace(string(commit)), time.Now().UTC().Format(time.DateOnly), len(rows), *rounds, beside, average,
		runtime.NumCPU())
	fmt.Print("| what | right |\n|---|---|\n")
	well, bad := m.states[healthy], m.states[hangs]
	for _, line := range [][2]string{
		{"healthy, not called hung", well.share(verdict)},
		{"hung, and called so, of the right kind", bad.share(verdict)},
		{"hung: culprit process right", bad.share(culprit)},
		{"hung: function and line right", bad.share(function)},
		{"hung: what the culprit waits for right", bad.share(waitsFor)},
		{"moving or in a loop: process right", both(well, m.states[spins], culprit)},
		{"moving or in a loop: function right", both(well, m.states[spins], function)},
		{"in a test: which one right", both(sum(well, bad), m.states[spins], testName)},
		{"sentences below 200 characters", both(sum(well, bad), m.states[spins], length)},
		{"longest sentence", fmt.Sprintf("%d characters", m.longest)},
		{"rows skipped", fmt.Sprint(len(m.skipped))},
	} {
		fmt.Printf("| %s | %s |\n", line[0], line[1])
	}
	fmt.Println()
	for _, name := range slices.Sorted(maps.Keys(m.wrong)) {
		for _, what := range slices.Sorted(maps.Keys(m.wrong[name])) {
			fmt.Printf("wrong: %s: %s, %d times: %s\n", name, what, m.wrong[name][what].times, m.wrong[name][what].last)
		}
	}
	for _, name := range m.skipped {
		fmt.Printf("skipped: %s\n", name)
	}
}

// sum is the counts of two together.
func sum(a, b counts) counts {
	total := counts{}
	for _, c := range []counts{a, b} {
		for what, n := range c {
			if total[what] == nil {
				total[what] = &struct{ right, all int }{}
			}
			total[what].right += n.right
			total[what].all += n.all
		}
	}
	return total
}

func both(a, b counts, what aspect) string { return sum(a, b).share(what) }

// busy is how many threads -load keeps busy.
func busy() int { return 2 * runtime.NumCPU() }

// keepBusy computes on all CPUs until the test ends.
func keepBusy(t *testing.T) {
	t.Helper()
	for range busy() {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := harness.Start(cmd); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	}
}
