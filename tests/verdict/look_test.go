//go:build linux

package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fpstack/fpstack/tests/harness"
)

// answer is what fpstack says, in the fields of fpstack.hang/1 that are compared.
type answer struct {
	Trigger            struct{ Kind string }
	Verdict            *verdictOf
	Processes, Outside []struct {
		PID  int
		Args []string
	}
	Waits *struct {
		Threads []struct {
			PID, TID int
			Wait     *struct{ Sort string }
		}
	}
	status int
	text   string // the JSON
}

type verdictOf struct {
	Kind, Sentence string
	Hung           bool
	Culprit        *culpritOf
	Tests          []struct{ Name string }
}

type culpritOf struct {
	PID, TID int
	Process  string
	Frame    *frame
}

type frame struct {
	Function, File string
	Line           int
}

// judgement makes fpstack judge a program that is ready, and returns what it said.
type judgement func(t testing.TB, p *harness.Program, pid int) *answer

// hang is `fpstack hang -p`.
func hang(t testing.TB, p *harness.Program, pid int) *answer {
	t.Helper()
	return ask(t, "hang", "-f", "json", "-p", strconv.Itoa(pid))
}

// ask runs fpstack, which writes JSON.
func ask(t testing.TB, args ...string) *answer {
	t.Helper()
	cmd := exec.Command(fpstack, args...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	a := parse(t, out.Bytes(), complaint.String())
	a.status = cmd.ProcessState.ExitCode()
	return a
}

func parse(t testing.TB, document []byte, complaint string) *answer {
	t.Helper()
	a := &answer{text: string(document)}
	if err := json.Unmarshal(document, a); err != nil {
		t.Fatalf("%v\n%s\n%s", err, complaint, document)
	}
	if a.Verdict == nil {
		t.Fatalf("no verdict\n%s\n%s", complaint, document)
	}
	return a
}

// aspect is one field in which an answer is right or wrong.
type aspect string

const (
	verdict  aspect = "verdict"  // hung or not, and the kind
	culprit  aspect = "culprit"  // the process
	function aspect = "function" // and its line
	waitsFor aspect = "waits"    // what the culprit waits for
	testName aspect = "test"     // which one, in the sentence too
	length   aspect = "length"   // of the sentence
)

// longest is how many characters a sentence may have.
const longest = 200

// compare returns for each aspect that the truth has whether it is right: "" or what is wrong.
func (is *truth) compare(a *answer, p *harness.Program) map[aspect]string {
	v := a.Verdict
	found := map[aspect]string{verdict: "", length: ""}
	if n := utf8.RuneCountInString(v.Sentence); n >= longest {
		found[length] = fmt.Sprintf("%d characters", n)
	}
	if is.test != "" {
		found[testName] = is.compareTest(v)
	}
	wrong := is.state != spins && v.Hung != (is.state == hangs)
	if wrong || len(is.kinds) > 0 && !slices.Contains(is.kinds, v.Kind) {
		found[verdict] = fmt.Sprintf("got %s, hung %t; it is %s %v", v.Kind, v.Hung, is.state, is.kinds)
	}
	if is.trigger != "" && a.Trigger.Kind != is.trigger {
		found[verdict] += fmt.Sprintf("by %q, want %q", a.Trigger.Kind, is.trigger)
	}
	if is.culprit == "" {
		return found
	}
	found[culprit] = is.compareProcess(a, p)
	if is.function != "" {
		found[function] = is.compareFunction(a, p)
	}
	if len(is.waits) > 0 {
		found[waitsFor] = ""
		if sort := a.waits(); !slices.Contains(is.waits, sort) {
			found[waitsFor] = fmt.Sprintf("got %q, want one of %q", sort, is.waits)
		}
	}
	return found
}

func (is *truth) compareTest(v *verdictOf) string {
	if len(v.Tests) != 1 || v.Tests[0].Name != is.test || !strings.HasSuffix(v.Sentence, "; in the test "+is.test) {
		return fmt.Sprintf("got %q in %q, want %s", v.Tests, v.Sentence, is.test)
	}
	return ""
}

func (is *truth) compareProcess(a *answer, p *harness.Program) string {
	who := a.Verdict.Culprit
	if who == nil {
		return "none is named, want " + is.culprit
	}
	line := a.commandLine(who.PID)
	if !regexp.MustCompile(is.culprit).MatchString(line) {
		return fmt.Sprintf("got %d %q, want %s", who.PID, line, is.culprit)
	}
	if is.marked {
		ids, _ := os.ReadFile(filepath.Join(p.Dir, "culprit"))
		if !slices.Contains(strings.Fields(string(ids)), strconv.Itoa(who.PID)) {
			return fmt.Sprintf("got %d %q, want one of %s", who.PID, line, bytes.TrimSpace(ids))
		}
	}
	return ""
}

func (is *truth) compareFunction(a *answer, p *harness.Program) string {
	who := a.Verdict.Culprit
	if who == nil || who.Frame == nil {
		return "none is named, want " + is.function
	}
	f := who.Frame
	if !regexp.MustCompile("^(" + is.function + ")$").MatchString(f.Function) {
		return fmt.Sprintf("got %s (%s:%d), want %s", f.Function, f.File, f.Line, is.function)
	}
	lines := marks(p)
	if at := fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line); len(lines) > 0 && !slices.Contains(lines, at) {
		return fmt.Sprintf("got %s at %s, want one of %v", f.Function, at, lines)
	}
	return ""
}

// marks are the lines of the files of p that have HERE: prog.c:12.
func marks(p *harness.Program) []string {
	var all []string
	for name, text := range p.Files {
		for i, line := range strings.Split(text, "\n") {
			if strings.Contains(line, "HERE") {
				all = append(all, fmt.Sprintf("%s:%d", filepath.Base(name), i+1))
			}
		}
	}
	return all
}

// commandLine is that of a process: of a living one as the kernel has it, whatever the answer says.
func (a *answer) commandLine(pid int) string {
	if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(line) > 0 {
		return strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	}
	for _, p := range slices.Concat(a.Processes, a.Outside) {
		if p.PID == pid {
			return strings.Join(p.Args, " ")
		}
	}
	return ""
}

// waits is the sort of what the culprit waits for, "" where it is not known.
func (a *answer) waits() string {
	who := a.Verdict.Culprit
	if who == nil || a.Waits == nil {
		return ""
	}
	for _, t := range a.Waits.Threads {
		if t.Wait != nil && (t.TID == who.TID || who.TID == 0 && t.TID == who.PID) {
			return t.Wait.Sort
		}
	}
	return ""
}
