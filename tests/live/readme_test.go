//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// shownDir is the folder in which the documents say that the programs of examples/ lie.
const shownDir = "/src/examples"

// typed are the commands of README and of the tutorial: what they are about, and the arguments after it is started.
// The name of the program stands for its id: others may have that name too.
var typed = map[string]struct {
	program string
	args    []string
}{
	"fpstack 4130":                        {"worker.py", []string{"worker.py"}},
	"fpstack deadlock":                    {"deadlock", []string{"deadlock"}},
	"fpstack deadlock --source":           {"deadlock", []string{"deadlock", "--source"}},
	"fpstack deadlock --waits":            {"deadlock", []string{"deadlock", "--waits"}},
	"fpstack hang deadlock":               {"deadlock", []string{"hang", "deadlock"}},
	"fpstack record hot -d 5 -o hot.html": {"hot", []string{"record", "hot", "-d", "5", "-o", "hot.html"}},
	"fpstack top hot --once 2":            {"hot", []string{"top", "hot", "--once", "2"}},
	"fpstack run --idle 10s ./hang":       {"", []string{"run", "--idle", "10s", "./hang"}},
}

// TestDocuments types each command that README and the tutorial show on the programs of examples/, and compares what it
// prints with what they show: "…" stands for any lines, and figures for others.
func TestDocuments(t *testing.T) {
	t.Parallel()
	dir := room(t)
	for _, name := range []string{"deadlock", "hot", "hang"} {
		buildExample(t, dir, name)
	}
	copyFile(t, "../../examples/worker.py", filepath.Join(dir, "worker.py"))
	printed := map[string]string{}
	for _, file := range []string{"../../README.md", "../../docs/tutorial.md"} {
		shown := 0
		for _, block := range strings.Split(readFile(t, file), "```console\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			command, want, _ := strings.Cut(block, "\n")
			command = strings.TrimPrefix(strings.TrimPrefix(command, "$ "), "sudo ")
			if _, ok := typed[command]; !ok {
				t.Errorf("%s shows %q, which no test types", file, command)
				continue
			}
			if printed[command] == "" {
				printed[command] = typeCommand(t, dir, command)
			}
			if at := missing(want, printed[command]); at != "" {
				t.Errorf("%s: %s does not print %q (or not there); it prints\n%s", file, command, at, printed[command])
			}
			shown++
		}
		if shown < 4 {
			t.Errorf("%s shows %d commands", file, shown)
		}
	}
}

// buildExample compiles a program of examples/ in dir, with its source beside it, as scripts/try does.
func buildExample(t *testing.T, dir, name string) {
	t.Helper()
	copyFile(t, filepath.Join("../../examples", name+".c"), filepath.Join(dir, name+".c"))
	build := exec.Command(installed(t, "gcc"), "-O2", "-g", "-pthread", name+".c", "-o", name)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// typeCommand starts the program that command is about, types it, and returns what is printed, standard error behind
// standard output.
func typeCommand(t *testing.T, dir, command string) string {
	t.Helper()
	args := append([]string{}, typed[command].args...)
	if program := typed[command].program; program != "" {
		pid := startExample(t, dir, program)
		for i := range args {
			if args[i] == program {
				args[i] = pid
			}
		}
	}
	c := exec.Command(fpstack, args...)
	c.Dir = dir
	var out, complaint strings.Builder
	c.Stdout, c.Stderr = &out, &complaint
	c.Run() // a verdict is a status, too
	return strings.ReplaceAll(out.String()+complaint.String(), dir, shownDir)
}

// startExample starts a program of examples/ and returns its id once all its threads are where they stay.
func startExample(t *testing.T, dir, program string) string {
	t.Helper()
	c, threads := exec.Command(filepath.Join(dir, program)), map[string]int{"deadlock": 3, "hot": 2}[program]
	if strings.HasSuffix(program, ".py") {
		c, threads = exec.Command("/usr/bin/python3", program), 4
	}
	c.Dir = dir
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	await(t, "the threads of "+program, func() bool { return len(threadsOf(c.Process.Pid)) == threads })
	if program != "hot" {
		await(t, "all threads sleep", func() bool {
			o := show(t, "--waits", "-v", strconv.Itoa(c.Process.Pid))
			return strings.Contains(o.stdout, "3 threads ") || strings.Contains(o.stdout, "deadlock:")
		})
	}
	time.Sleep(100 * time.Millisecond)
	return strconv.Itoa(c.Process.Pid)
}

// missing returns the first line of want that got has not where it should be, "" for none. "…" stands for any lines.
func missing(want, got string) string {
	lines, anywhere := forms(got), false
	for _, line := range strings.Split(strings.TrimRight(want, "\n"), "\n") {
		if line == "…" {
			anywhere = true
			continue
		}
		form := forms(line)[0]
		for len(lines) > 0 && anywhere && lines[0] != form {
			lines = lines[1:]
		}
		if len(lines) == 0 || lines[0] != form {
			return line
		}
		lines, anywhere = lines[1:], false
	}
	return ""
}

var (
	figure = regexp.MustCompile(`0x[0-9a-f]+(?:…[0-9a-f]+)?|\b\d[\d.,]*`)
	unit   = regexp.MustCompile(`N (?:ns|µs|ms|s)\b`)          // of a time that is in another unit on another day
	busy   = regexp.MustCompile(`, \d+ later than the others`) // of a machine that has other things to do
	line   = regexp.MustCompile(`(?:deadlock|hang|worker)\.(?:c|py):\d+`)
)

// forms are the lines that are not empty, without the figures that differ from run to run: a line of a source does not
// where a program waits.
func forms(text string) []string {
	var all []string
	for text := range strings.Lines(text) {
		place := line.FindString(text)
		if strings.TrimSpace(text) == "" {
			continue
		}
		form := figure.ReplaceAllString(busy.ReplaceAllString(text, ""), "N")
		form = unit.ReplaceAllString(form, "N")
		all = append(all, strings.Join(strings.Fields(form), " ")+" "+place)
	}
	if len(all) == 0 {
		all = []string{""}
	}
	return all
}

// TestTry runs scripts/try as the tutorial says, with a program that is built already.
func TestTry(t *testing.T) {
	t.Parallel()
	root := room(t)
	for _, name := range []string{"scripts/try", "examples/hang.c"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		copyFile(t, filepath.Join("../..", name), filepath.Join(root, name))
	}
	copyFile(t, fpstack, filepath.Join(root, "fpstack"))
	o := execute(t, bound, "bash", filepath.Join(root, "scripts/try"), "hang")
	if o.status != 0 || !strings.Contains(o.stdout, "exit status 124") || !strings.Contains(o.stderr, "full pipe") {
		t.Errorf("scripts/try hang: status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	if o := execute(t, bound, "bash", filepath.Join(root, "scripts/try"), "x"); o.status != 64 {
		t.Errorf("scripts/try x: status %d, want 64", o.status)
	}
}
