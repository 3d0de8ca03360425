//go:build linux

package live

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// fitsHang checks a document by the schema of hangs and those that it refers to.
func fitsHang(t *testing.T, text string) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	const base = "https://github.com/fpstack/fpstack/docs/schema/"
	for _, name := range []string{"dump", "waits", "hang"} {
		name = "fpstack." + name + ".1.schema.json"
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(readFile(t, "../../docs/schema/"+name)))
		if err := errors.Join(err, compiler.AddResource(base+name, doc)); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile(base + "fpstack.hang.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		t.Errorf("%v", err)
	}
}

// forest starts a shell with so many processes of so many threads below it, all asleep.
func forest(t *testing.T, processes, threads int) *target {
	t.Helper()
	script := fmt.Sprintf("for i in $(seq %d); do %s %d 10 & done; wait", processes, program(t, "threads"), threads-1)
	p := launch(t, exec.Command("sh", "-c", script))
	for range processes {
		p.ready(t)
	}
	return p
}

// sizes lists the files below dir by their path in it.
func sizes(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if name, relErr := filepath.Rel(dir, path); err == nil && relErr == nil {
			found[name] = info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestReportOfATree: the report of 31 processes with 511 threads is complete, fits its schema and its limit, and can
// be named elsewhere; the log of the CI system has the verdict first.
func TestReportOfATree(t *testing.T) {
	t.Parallel()
	const processes, threads = 30, 17
	dir, p := room(t), forest(t, processes, threads)
	report, summary := filepath.Join(dir, "hang"), filepath.Join(dir, "summary.md")
	c := exec.Command(fpstack, "hang", "-p", fmt.Sprint(p.pid), "--report", report, "--junit",
		filepath.Join(dir, "junit.xml"))
	c.Env = append(os.Environ(), "GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY="+summary, "GITHUB_WORKSPACE="+dir)
	log, _ := c.CombinedOutput()
	if s := c.ProcessState.ExitCode(); s != 0 && s != 3 && s != 4 {
		t.Fatalf("status %d:\n%s", s, log)
	}
	files, all := sizes(t, report), int64(0)
	for _, size := range files {
		all += size
	}
	if all > 10_000_000 {
		t.Errorf("the report has %d bytes", all)
	}
	for _, name := range []string{"hang.txt", "hang.json", "hang.folded", "hang.svg"} {
		if files[name] == 0 {
			t.Errorf("the report has no %s: %v", name, files)
		}
	}
	document := readFile(t, filepath.Join(report, "hang.json"))
	fitsHang(t, document)
	var hang struct {
		Processes []struct{ PID int }
		Dumps     []struct{ Threads []struct{ TID int } }
		Verdict   struct{ Sentence string }
	}
	if err := json.Unmarshal([]byte(document), &hang); err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, d := range hang.Dumps {
		shown += len(d.Threads)
	}
	if len(hang.Processes) != processes+1 || shown != processes*threads+1 {
		t.Errorf("%d processes and %d threads", len(hang.Processes), shown)
	}
	lines := strings.SplitN(string(log), "\n", 41)
	if !strings.Contains(strings.Join(lines[:min(len(lines), 40)], "\n"), hang.Verdict.Sentence) {
		t.Errorf("the first lines of the log have no verdict %q:\n%s", hang.Verdict.Sentence, log[:min(len(log), 4000)])
	}
	if info, err := os.Stat(summary); err != nil || info.Size() >= 1<<20 || info.Size() == 0 {
		t.Errorf("summary: %v, %v", info, err)
	}
	var suites struct {
		Suite struct {
			Tests int `xml:"tests,attr"`
		} `xml:"testsuite"`
	}
	junit := readFile(t, filepath.Join(dir, "junit.xml"))
	if err := xml.Unmarshal([]byte(junit), &suites); err != nil || suites.Suite.Tests != 1 {
		t.Errorf("JUnit: %v in\n%s", err, junit)
	}
	elsewhere := filepath.Join(dir, "elsewhere")
	if err := os.Rename(report, elsewhere); err != nil {
		t.Fatal(err)
	}
	o := show(t, elsewhere)
	if n := strings.Count(o.stdout, "\nprocess ") + 1; n != processes+1 || !strings.Contains(o.stdout, "descend") {
		t.Errorf("%d processes named elsewhere:\n%.2000s%s", n, o.stdout, o.stderr)
	}
}

// TestReportOfAKilledRun: when fpstack is killed while it samples, the facts and what was done of the processes are
// there, each file whole.
func TestReportOfAKilledRun(t *testing.T) {
	t.Parallel()
	dir, p := room(t), forest(t, 3, 5)
	report := filepath.Join(dir, "hang")
	c := exec.Command(fpstack, "hang", "-p", fmt.Sprint(p.pid), "--report", report)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	for until := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		saved, _ := filepath.Glob(filepath.Join(report, "processes", "*.snap"))
		if len(saved) > 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatal("no process is saved")
		}
	}
	if err := c.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	if text := readFile(t, filepath.Join(report, "hang.txt")); !strings.Contains(text, "no verdict: ") ||
		strings.Count(text, "process ") < 4 || !strings.HasSuffix(text, "\n") {
		t.Errorf("hang.txt is\n%s", text)
	}
	document := readFile(t, filepath.Join(report, "hang.json"))
	if fitsHang(t, document); strings.Contains(document, `"verdict"`) {
		t.Error("hang.json has a verdict")
	}
	for name := range sizes(t, report) {
		if strings.HasPrefix(filepath.Base(name), ".") {
			t.Errorf("%s is half written", name)
		}
	}
	if o := show(t, report); !strings.Contains(o.stdout, "process ") {
		t.Errorf("what was saved: %s%s", o.stdout, o.stderr)
	}
	if err := syscall.Kill(p.pid, 0); err != nil {
		t.Errorf("the processes: %v", err)
	}
}

// TestReportThatCannotBeWritten: without a folder, and on a full disk, the verdict is shown and one line says what is
// missing.
func TestReportThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	asRoot(t)
	p, dir := forest(t, 1, 3), room(t)
	full := filepath.Join(dir, "full")
	shell(t, dir, "mkdir full && mount -t tmpfs -o size=8k tmpfs full")
	t.Cleanup(func() { syscall.Unmount(full, syscall.MNT_DETACH) })
	for name, report := range map[string]string{"no folder": "/proc/fpstack", "a full disk": full} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			c := exec.Command(fpstack, "hang", "-p", fmt.Sprint(p.pid), "--report", report)
			c.Stdout, c.Stderr = &stdout, &stderr
			c.Run()
			if s := c.ProcessState.ExitCode(); s != 3 && s != 4 && s != 0 || stdout.Len() == 0 {
				t.Errorf("status %d:\n%s", s, stdout.String())
			}
			if n := strings.Count(stderr.String(), "report "); n != 1 || strings.Count(stderr.String(), "\n") > 2 {
				t.Errorf("standard error: %s", stderr.String())
			}
		})
	}
}

// TestAnnotationOfBuildkite: the agent is given the summary.
func TestAnnotationOfBuildkite(t *testing.T) {
	t.Parallel()
	p, dir := forest(t, 1, 2), room(t)
	shell(t, dir, `printf '#!/bin/sh\necho "$@" > %s/args\ncat > %s/body\n' "$PWD" "$PWD" > buildkite-agent
chmod +x buildkite-agent`)
	c := exec.Command(fpstack, "hang", "-p", fmt.Sprint(p.pid), "--ci", "buildkite", "--color", "always")
	c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	log, _ := c.CombinedOutput()
	args, body := readFile(t, filepath.Join(dir, "args")), readFile(t, filepath.Join(dir, "body"))
	if !strings.HasPrefix(args, "annotate --style ") || !strings.HasPrefix(body, "## fpstack: ") ||
		strings.Contains(body, "\x1b") {
		t.Errorf("the agent got %q and\n%s", args, body)
	}
	if !strings.HasPrefix(string(log), "+++ fpstack: ") || !strings.Contains(string(log), "\n--- Stacks\n") {
		t.Errorf("log:\n%s", log)
	}
}

// TestOutcomeOfRun: JUnit's file has a test that passed where the command ended by itself, and an error after a limit;
// a signal that ended the command is no success.
func TestOutcomeOfRun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		status     int
		args       []string
	}{
		{"it ends", `errors="0"`, 3, []string{"--", "sh", "-c", "exit 3"}},
		{"it reaches the deadline", `<error type="hang"`, 124, []string{"--deadline", "100ms", "--", "sh", "-c",
			"printf half >&2; sleep 1000"}},
		{"it only gets a warning", `errors="0"`, 0, []string{"--warn", "100ms", "--", "sleep", "12"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(room(t), "junit.xml")
			o := execute(t, bound, fpstack, append([]string{"run", "--ci", "gitlab", "--junit", file}, tt.args...)...)
			if o.status != tt.status {
				t.Errorf("status %d\n%s", o.status, o.stderr)
			}
			command := tt.args[len(tt.args)-2]
			if text := readFile(t, file); !strings.Contains(text, tt.want) || !strings.Contains(text, command) {
				t.Errorf("want %s and %s in\n%s", tt.want, command, text)
			}
			if strings.Contains(o.stderr, "half") && !strings.Contains(o.stderr, "half\n") {
				t.Errorf("the log goes on in a line of the command:\n%s", o.stderr)
			}
			begin := strings.Count(o.stderr, "\x1b[0Ksection_start:")
			end := strings.Count(o.stderr, "\x1b[0Ksection_end:")
			if begin != end || (begin > 0) != (tt.name != "it ends") {
				t.Errorf("%d sections begin, %d end:\n%s", begin, end, o.stderr)
			}
		})
	}
}

// TestReportOfWhatComesLater: a process that is there in a later moment alone is in the report, too; a file that the
// text goes to has no commands of a CI system.
func TestReportOfWhatComesLater(t *testing.T) {
	t.Parallel()
	p := launch(t, exec.Command("sh", "-c", "echo R; while :; do sleep 1.5; done")).ready(t)
	dir := room(t)
	report, text := filepath.Join(dir, "hang"), filepath.Join(dir, "hang.txt")
	c := exec.Command(fpstack, "hang", "-p", fmt.Sprint(p.pid), "--ci", "github", "-o", text, "--report", report)
	c.Env = append(os.Environ(), "GITHUB_STEP_SUMMARY=")
	said, _ := c.CombinedOutput()
	saved, _ := filepath.Glob(filepath.Join(report, "processes", "*-sleep.snap"))
	shown, _ := filepath.Glob(filepath.Join(report, "processes", "*-sleep.txt"))
	if len(saved) < 2 || len(shown) != len(saved) {
		t.Errorf("%d processes are saved, %d shown: %s", len(saved), len(shown), said)
	}
	if got := readFile(t, text); strings.Contains(got, "\n::") || !strings.Contains(got, "\nreport: "+report+"\n") {
		t.Errorf("the file has\n%s", got)
	}
}

// TestReportOfEnvironment: the values of variables are in a report for who asks, in files for their owner alone.
func TestReportOfEnvironment(t *testing.T) {
	t.Parallel()
	c := exec.Command("sh", "-c", "echo R; sleep 1000")
	c.Env = append(os.Environ(), "OUR_TOKEN=hunter2")
	p := launch(t, c).ready(t)
	for name, options := range map[string][]string{"names": nil, "values": {"--report-env"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := filepath.Join(room(t), "hang")
			o := execute(t, bound, fpstack, append([]string{"hang", "-p", fmt.Sprint(p.pid), "--report", report},
				options...)...)
			for _, file := range []string{"hang.txt", "hang.json"} {
				text := readFile(t, filepath.Join(report, file))
				if !strings.Contains(text, "OUR_TOKEN") || strings.Contains(text, "hunter2") {
					t.Errorf("%s: status %d, %s%s", file, o.status, o.stderr, text)
				}
			}
			files, _ := filepath.Glob(filepath.Join(report, "processes", "*.env"))
			if (len(files) > 0) != (len(options) > 0) {
				t.Errorf("environments: %q", files)
			}
			for _, file := range files {
				info, err := os.Stat(file)
				if err != nil || info.Mode().Perm()&0o077 != 0 {
					t.Errorf("%s: %v, %v", file, info, err)
				}
				if text := readFile(t, file); !strings.Contains(text, "\nOUR_TOKEN=hunter2\n") {
					t.Errorf("%s:\n%s", file, text)
				}
			}
		})
	}
}
