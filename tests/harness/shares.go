package harness

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Shares are functions, by the names that recordings show, with the CPU time that each took, in nanoseconds.
type Shares map[string]float64

// Said are the shares in the last whole line "shares NAME NANOSECONDS…" of a file that a program writes; none before
// there is one.
func Said(t testing.TB, file string) Shares {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(text), "\n")
	for i := len(all) - 2; i >= 0; i-- {
		fields := strings.Fields(all[i])
		if len(fields) < 3 || fields[0] != "shares" {
			continue
		}
		s := Shares{}
		for k := 1; k+1 < len(fields); k += 2 {
			if s[fields[k]], err = strconv.ParseFloat(fields[k+1], 64); err != nil {
				t.Fatalf("%s: %v", all[i], err)
			}
		}
		return s
	}
	return nil
}

// StartShares starts a program that writes lines as [Said] reads them, and returns when it has written some of them,
// so that what compiles its functions has done so.
func StartShares(t testing.TB, cmd *exec.Cmd) (pid int, said func() Shares) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "said")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = out
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	if err := Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 600 {
		if text, err := os.ReadFile(file); err == nil && strings.Count(string(text), "shares ") >= 8 {
			return cmd.Process.Pid, func() Shares { return Said(t, file) }
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("%q did not say its shares in a minute", cmd.Args)
	return 0, nil
}

// sharesTime is how long [CompareShares] records.
var sharesTime = flag.Duration("shares", brief, "how long TestShares records; longer: and in all versions")

// brief is how long each run records.
const brief = 4 * time.Second

// Sharers are those of a sorted list of programs that are recorded: the last one, where nobody asked for longer
// recordings.
func Sharers[T any](all []T) []T {
	if *sharesTime > brief || len(all) == 0 {
		return all
	}
	return all[len(all)-1:]
}

// CompareShares records a process, and compares what the recording says of the CPU time of its functions with what the
// program says itself, by its own clock. A sample counts for the innermost of these functions. No share may be 2 points
// away, nor four standard errors where there are few samples; what has none of the functions is shown.
func CompareShares(t testing.TB, pid int, said func() Shares) {
	t.Helper()
	const rate = 199
	d, dir := *sharesTime, t.TempDir()
	program, folded := filepath.Join(dir, "fpstack"), filepath.Join(dir, "shares.folded")
	if err := Build(program); err != nil {
		t.Fatal(err)
	}
	before := said()
	c := exec.Command(program, "record", strconv.Itoa(pid), "--duration", d.String(), "--rate", strconv.Itoa(rate),
		"--mode", "cpu", "--max-overhead", "0", "-o", folded)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("record: %v\n%s", err, out)
	}
	truth := said()
	for name := range truth {
		truth[name] -= before[name]
	}
	text, err := os.ReadFile(folded)
	if err != nil {
		t.Fatal(err)
	}
	found, others := countShares(string(text), truth)
	all, other := found.sum(), others.sum()
	if all == 0 {
		t.Fatalf("no sample has one of %v:\n%s", truth, text)
	}
	n := truth.sum() / 1e9 * rate / 2 // samples, as many at least: of a program that others leave a CPU
	var line strings.Builder
	most := 0.0
	for name, v := range truth {
		got, want := 100*found[name]/all, 100*v/truth.sum()
		allowed := max(2, 400*math.Sqrt(want*(100-want)/100/100/n))
		fmt.Fprintf(&line, "; %s %.2f, is %.2f", name, got, want)
		most = max(most, math.Abs(got-want))
		if math.Abs(got-want) > allowed {
			t.Errorf("%s has %.2f %%, and is %.2f %% (%.2f points may be between)", name, got, want, allowed)
		}
	}
	fmt.Printf("| %s | %.2f points | %.2f %% elsewhere%s |\n", t.Name(), most, 100*other/(all+other), line.String())
	if t.Failed() || other > all/4 {
		t.Errorf("elsewhere: %v\n%.4000s", others, text)
	}
}

// countShares adds the samples of a folded text to their innermost functions, and others by their innermost frames.
func countShares(text string, functions Shares) (found, others Shares) {
	found, others = Shares{}, Shares{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if i < 0 {
			continue
		}
		n, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			continue
		}
		frames := strings.Split(line[:i], ";")
		k := len(frames) - 1
		for k >= 0 {
			if _, is := functions[frames[k]]; is {
				break
			}
			k--
		}
		if k < 0 {
			others[frames[len(frames)-1]] += n
		} else {
			found[frames[k]] += n
		}
	}
	return found, others
}

func (s Shares) sum() (sum float64) {
	for _, v := range s {
		sum += v
	}
	return sum
}
