package ci

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// hostileName is what somebody could call a thread, a function or a file to be taken for a command.
const hostileName = "std::string ::error::x\n::add-mask::a\r##vso[task.setvariable variable=PATH;]/evil\n" +
	"##teamcity[buildStop comment='']\n--- group\n\x1b[0Ksection_start:1:x\r\x1b[0K\x1b[31m``` `x` </details>" +
	"\xff\xfe\u202e|']]>&<b>\U0001f600 ##[group]"

// stuckTest is two processes: make waits for a test whose main thread waits for a lock.
func stuckTest(name string) (*hang.Case, *hang.Verdict) {
	frame := profile.Frame{Func: name, File: "/builds/shop/src/till,1:a.c", Line: 12, Module: -1}
	c := &hang.Case{Trigger: hang.Trigger{Kind: hang.Deadline, After: 25 * time.Minute},
		Command: []string{"make", name}, Roots: []int{77},
		Processes: []hang.Process{{PID: 77, Name: "make"}, {PID: 812, Parent: 77, Name: name}},
		Moments: []hang.Moment{{Dumps: []*profile.Dump{{Process: profile.Process{PID: 812, Comm: name},
			Threads: []profile.Thread{{TID: 812, Stack: profile.Stack{Frames: []profile.Frame{
				{Func: "futex_wait", File: "./nptl/futex.c", Line: 146, Module: -1}, frame}}}}}}}}}
	v := &hang.Verdict{Kind: hang.Waiting,
		Sentence: "make (77) waits for " + text.Quote(name) + " (812), which waits for a lock that nobody holds",
		Because:  []string{"812: 0 switches in 7.0 s", "the lock is at 50% of " + text.Quote(name)},
		Culprit:  &hang.Culprit{PID: 812, TID: 812, Process: name, Frame: &frame},
		Lacks:    []string{"process 90 " + text.Quote(name) + ": operation not permitted"}}
	return c, v
}

// logOf is what the log gets of a case.
func logOf(c *hang.Case, v *hang.Verdict, name string) *Log {
	at := (&Sources{Dir: "/builds/shop"}).Find(c, v)
	return &Log{Title: Title(v), Token: "fpstack-4f2a", Now: time.Unix(1700000000, 0),
		Verdict: func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%s\n  %s\n", text.Message(v.Sentence), strings.Join(v.Because, "\n  "))
			return err
		},
		Annotations: Annotations(c, v, at),
		Groups: []Group{{"Stacks", func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "thread 812 %s\n--- %s\n", text.Quote(name), text.Escape(name))
			return err
		}}}}
}

// files were written besides.
var files = []File{{Report, "/builds/shop/hang"}, {Markdown, "/builds/shop/hang/hang.md"},
	{JUnitXML, "/builds/shop/it's;1].xml"}}

func TestLogOfEachSystem(t *testing.T) {
	for _, choice := range Systems {
		s := choice.System
		for kind, name := range map[string]string{"plain": "test_net", "hostile": hostileName} {
			c, v := stuckTest(name)
			var out bytes.Buffer
			if err := WriteLog(&out, s, logOf(c, v, name)); err != nil {
				t.Fatal(err)
			}
			if err := WriteFiles(&out, s, files); err != nil {
				t.Fatal(err)
			}
			golden(t, string(s)+"-"+kind+".log", out.Bytes())
		}
	}
}

// commands lists the lines of a log that a system takes for commands.
func commands(s System, log string) (out []string) {
	stopped := ""
	for line := range strings.SplitSeq(log, "\n") {
		line = strings.TrimRight(line, "\r")
		trimmed := strings.TrimLeft(line, " \t")
		switch s {
		case GitHub:
			if token, ok := strings.CutPrefix(trimmed, "::stop-commands::"); ok && stopped == "" {
				stopped = token
				continue
			}
			if stopped != "" {
				if trimmed == "::"+stopped+"::" {
					stopped = ""
				}
				continue
			}
			if strings.HasPrefix(trimmed, "::") || strings.Contains(line, "##[") {
				out = append(out, trimmed)
			}
		case Azure:
			if strings.Contains(line, "##vso[") || strings.Contains(line, "##[") {
				out = append(out, line)
			}
		case TeamCity:
			for _, piece := range strings.Split(line, "##teamcity[")[1:] {
				out = append(out, "##teamcity["+piece)
			}
		case Buildkite:
			for _, head := range []string{"--- ", "+++ ", "~~~ ", "^^^ "} {
				if strings.HasPrefix(line, head) {
					out = append(out, line)
				}
			}
		case GitLab:
			out = append(out, strings.Split(line, "\x1b")[1:]...)
		}
	}
	return out
}

// TestNamesAreNoCommands: with hostile names a log has the same commands, as many, as with plain ones.
func TestNamesAreNoCommands(t *testing.T) {
	for _, choice := range Systems[1:] {
		s := choice.System
		var heads [2][]string
		for i, name := range []string{"test_net", hostileName} {
			c, v := stuckTest(name)
			var out bytes.Buffer
			if err := WriteLog(&out, s, logOf(c, v, name)); err != nil {
				t.Fatal(err)
			}
			for _, line := range commands(s, out.String()) {
				heads[i] = append(heads[i], line[:min(len(line), 14)])
			}
			if !utf8.ValidString(out.String()) {
				t.Errorf("%s: the log is no UTF-8", s)
			}
		}
		if len(heads[0]) == 0 || fmt.Sprint(heads[0]) != fmt.Sprint(heads[1]) {
			t.Errorf("%s: commands with plain names\n%q\nwith hostile ones\n%q", s, heads[0], heads[1])
		}
	}
}

// TestAnnotationFits: an annotation stays below what is shown of one, and none of its escapes is cut apart.
func TestAnnotationFits(t *testing.T) {
	for _, text := range []string{strings.Repeat("%", 9000), strings.Repeat("é\n", 5000),
		strings.Repeat("|']😀", 3000)} {
		a := &Annotation{Level: Error, Place: Place{"a:b,c.go", 7}, Title: "t", Text: text,
			Code: strings.Repeat("c", 99)}
		for _, s := range []System{GitHub, Azure, TeamCity} {
			line := s.form("t", time.Time{}).annotation(a)
			most := maxMessage
			if s == TeamCity {
				most = maxProblem + 120
			}
			if len(line) > most || len(line) < most/2 || !utf8.ValidString(line) || strings.ContainsAny(line, "\r\n") {
				t.Errorf("%s: %d bytes: %.80q…%q", s, len(line), line, line[len(line)-12:])
			}
			whole := map[System]string{GitHub: "%25", Azure: "%AZP25"}[s]
			if text[0] == '%' && whole != "" {
				_, data, _ := strings.Cut(line, map[System]string{GitHub: "=t::", Azure: "]t: "}[s])
				if rest := strings.TrimSuffix(strings.ReplaceAll(data, whole, ""), "…"); rest != "" {
					t.Errorf("%s: %q is left of the text", s, rest)
				}
			}
		}
	}
}

// TestLogIsBounded: the verdict comes first and whole, groups are cut and that is said.
func TestLogIsBounded(t *testing.T) {
	c, v := stuckTest("test_net")
	l := logOf(c, v, "test_net")
	l.Groups = []Group{{"Stacks", lines(100_000)}, {"More", lines(5)}}
	for _, choice := range Systems {
		s := choice.System
		var out bytes.Buffer
		if err := WriteLog(&out, s, l); err != nil {
			t.Fatal(err)
		}
		head := strings.Join(strings.SplitAfterN(out.String(), "\n", 41)[:40], "")
		if !strings.Contains(head, v.Sentence) {
			t.Errorf("%s: the first lines have no verdict:\n%s", s, head)
		}
		switch {
		case s == None:
			if strings.Count(out.String(), "thread 1234567890\n") != 100_005 {
				t.Error("a plain log is cut")
			}
		case out.Len() > maxGroups+8192:
			t.Errorf("%s: %d bytes", s, out.Len())
		case !strings.Contains(out.String(), " more lines, which the report has\n"):
			t.Errorf("%s: nothing says that lines are missing", s)
		}
	}
}

func lines(n int) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("thread 1234567890\n", n))
		return err
	}
}

func TestWriteLogFails(t *testing.T) {
	c, v := stuckTest("test_net")
	l := logOf(c, v, "test_net")
	full := errors.New("disk full")
	if err := WriteLog(failing{full}, GitHub, l); !errors.Is(err, full) {
		t.Errorf("the writer fails: got %v", err)
	}
	if err := WriteFiles(failing{full}, Azure, files); !errors.Is(err, full) {
		t.Errorf("the writer of files fails: got %v", err)
	}
	l.Groups[0].Text = func(io.Writer) error { return full }
	if err := WriteLog(io.Discard, None, l); !errors.Is(err, full) {
		t.Errorf("a group fails: got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestSummary(t *testing.T) {
	for kind, name := range map[string]string{"plain": "test_net", "hostile": hostileName} {
		c, v := stuckTest(name)
		var out bytes.Buffer
		if err := WriteSummary(&out, logOf(c, v, name), 0); err != nil {
			t.Fatal(err)
		}
		golden(t, "summary-"+kind+".md", out.Bytes())
	}
}

// TestSummaryKeepsItsBlocks: whatever the text has of marks, the block ends where it is meant to.
func TestSummaryKeepsItsBlocks(t *testing.T) {
	for _, s := range []string{"", "`", "```", "a\n``````\nb", strings.Repeat("`", 5000), "```\n</details>"} {
		block, ok := codeBlock(s, 1<<20)
		lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
		fence := strings.TrimSuffix(lines[0], "text")
		if !ok || len(fence) < 3 || lines[len(lines)-1] != fence {
			t.Fatalf("%.20q: block %.40q", s, block)
		}
		for _, l := range lines[1 : len(lines)-1] {
			if strings.HasPrefix(strings.TrimLeft(l, " "), fence) {
				t.Errorf("%.20q: line %.40q ends the block", s, l)
			}
		}
	}
}

// TestSummaryFits: with 730 threads of hostile names the summary is below what a step may have, beside what is
// there; without room for the verdict it is refused.
func TestSummaryFits(t *testing.T) {
	c, v := stuckTest(hostileName)
	l := logOf(c, v, hostileName)
	l.Groups[0].Text = func(w io.Writer) error {
		for i := range 730 {
			for j := range 40 {
				fmt.Fprintf(w, "thread %d #%d %s\n", i, j, text.Escape(hostileName))
			}
		}
		return nil
	}
	for _, taken := range []int64{0, 1, 900_000, maxSummary - 5000} {
		var out bytes.Buffer
		if err := WriteSummary(&out, l, taken); err != nil {
			t.Fatal(err)
		}
		if n := int64(out.Len()) + taken; n >= maxSummary || n < maxSummary-6000 {
			t.Errorf("beside %d bytes: %d in all", taken, n)
		}
		if n := strings.Count(out.String(), "\n</details>\n"); n != strings.Count(out.String(), "\n<details>") {
			t.Errorf("beside %d bytes: %d ends of details", taken, n)
		}
	}
	for _, taken := range []int64{maxSummary - 100, maxSummary, 5 * maxSummary} {
		var out bytes.Buffer
		if err := WriteSummary(&out, l, taken); err == nil || out.Len() > 0 {
			t.Errorf("beside %d bytes: %d written, %v", taken, out.Len(), err)
		}
	}
}

// junitSuites is what readers of JUnit's XML take from a document.
type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suite   struct {
		Errors int `xml:"errors,attr"`
		Case   struct {
			Error *struct {
				Type    string `xml:"type,attr"`
				Message string `xml:"message,attr"`
			} `xml:"error"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func TestJUnit(t *testing.T) {
	for kind, name := range map[string]string{"plain": "test_net", "hostile": hostileName + "\x00\x01"} {
		c, v := stuckTest(name)
		l := logOf(c, v, name)
		var out bytes.Buffer
		test := &Test{Name: strings.Join(c.Command, " "), Seconds: 1500, Time: time.Unix(1700000000, 0),
			Error: Outcome(c, v), Verdict: l.Verdict}
		if err := WriteJUnit(&out, test); err != nil {
			t.Fatal(err)
		}
		golden(t, "junit-"+kind+".xml", out.Bytes())
		var doc junitSuites
		if err := xml.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		failed := doc.Suite.Case.Error
		if failed == nil || failed.Type != "hang" || len(failed.Message) > maxErrorMessage || doc.Suite.Errors != 1 {
			t.Errorf("%s: read back: %+v", kind, doc.Suite)
		}
	}
	var out bytes.Buffer
	if err := WriteJUnit(&out, &Test{Name: "make test", Seconds: 3}); err != nil {
		t.Fatal(err)
	}
	golden(t, "junit-passed.xml", out.Bytes())
}

func TestJUnitIsBounded(t *testing.T) {
	var out bytes.Buffer
	test := &Test{Name: strings.Repeat("n", 1000), Error: strings.Repeat("é", 1000), Verdict: lines(100_000)}
	if err := WriteJUnit(&out, test); err != nil {
		t.Fatal(err)
	}
	if out.Len() > maxErrorBody*2 {
		t.Errorf("%d bytes", out.Len())
	}
}

func TestDetect(t *testing.T) {
	tests := []struct {
		name, env string
		want      System
		job       bool
		workspace string
	}{
		{"no job", "", None, false, ""},
		{"CI is false", "CI=false", None, false, ""},
		{"any system", "CI=1", None, true, ""},
		{"GitHub", "CI=true GITHUB_ACTIONS=true GITHUB_WORKSPACE=/w/a/../b/", GitHub, true, "/w/b"},
		{"GitLab", "CI=true GITLAB_CI=true CI_PROJECT_DIR=/builds/a", GitLab, true, "/builds/a"},
		{"Azure", "TF_BUILD=True BUILD_SOURCESDIRECTORY=/s", Azure, true, "/s"},
		{"TeamCity", "TEAMCITY_VERSION=2024.3", TeamCity, true, ""},
		{"Buildkite", "BUILDKITE=true BUILDKITE_BUILD_CHECKOUT_PATH=/b", Buildkite, true, "/b"},
		{"Jenkins", "JENKINS_URL=https://ci WORKSPACE=/j", None, true, "/j"},
		{"a folder that is relative", "CIRCLECI=true CIRCLE_WORKING_DIRECTORY=~/x", None, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			getenv := environment(tt.env)
			if got := Detect(getenv); got != tt.want {
				t.Errorf("Detect: got %s, want %s", got, tt.want)
			}
			if got := InJob(getenv); got != tt.job {
				t.Errorf("InJob: got %t", got)
			}
			if got := Workspace(getenv); got != tt.workspace {
				t.Errorf("Workspace: got %q, want %q", got, tt.workspace)
			}
		})
	}
}

// environment reads NAME=VALUE words.
func environment(words string) Getenv {
	return func(name string) string {
		for _, w := range strings.Fields(words) {
			if v, ok := strings.CutPrefix(w, name+"="); ok {
				return v
			}
		}
		return ""
	}
}

func TestDeadline(t *testing.T) {
	now := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name, env string
		want      time.Duration
	}{
		{"none", "CI=true", 0},
		{"GitLab, an hour", "CI_JOB_TIMEOUT=3600", 57 * time.Minute},
		{"GitLab, of which ten minutes are over", "CI_JOB_TIMEOUT=3600 CI_JOB_STARTED_AT=2026-08-01T11:50:00Z",
			47 * time.Minute},
		{"a start in the future", "CI_JOB_TIMEOUT=3600 CI_JOB_STARTED_AT=2026-08-01T12:50:00Z", 57 * time.Minute},
		{"a start that is none", "CI_JOB_TIMEOUT=3600 CI_JOB_STARTED_AT=yesterday", 57 * time.Minute},
		{"nearly over", "CI_JOB_TIMEOUT=3600 CI_JOB_STARTED_AT=2026-08-01T11:02:00Z", time.Minute},
		{"short", "CI_JOB_TIMEOUT=60", 30 * time.Second},
		{"ten minutes", "BUILDKITE_TIMEOUT=10", 9 * time.Minute},
		{"Buildkite without a limit", "BUILDKITE_TIMEOUT=false", 0},
		{"Bazel", "TEST_TIMEOUT=300", 290 * time.Second},
		{"below 0", "TEST_TIMEOUT=-300", 0},
		{"more than fits", "CI_JOB_TIMEOUT=99999999999999999999", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Deadline(environment(tt.env), now)
			if got.After != tt.want || ok != (tt.want > 0) {
				t.Errorf("got %s, %t, want %s (%s)", got.After, ok, tt.want, &got)
			}
		})
	}
}

func TestFindPlace(t *testing.T) {
	frame := func(file string, line int) profile.Frame { return profile.Frame{File: file, Line: line} }
	tests := []struct {
		name   string
		named  profile.Frame
		frames []profile.Frame
		want   Place
	}{
		{"in the checkout", frame("/w/src/a.c", 3), nil, Place{"src/a.c", 3}},
		{"a caller is", frame("/usr/lib/b.c", 3), []profile.Frame{frame("/usr/lib/b.c", 3), frame("/w/c.c", 9)},
			Place{"c.c", 9}},
		{"a path without a root that is there", frame("pkg/x.go", 5), nil, Place{"pkg/x.go", 5}},
		{"one that is not", frame("other/x.go", 5), nil, Place{"other/x.go", 5}},
		{"out of it", frame("/w/../etc/passwd", 5), nil, Place{"/w/../etc/passwd", 5}},
		{"the work of others", frame("/w/node_modules/a/b.js", 5), []profile.Frame{frame("/w/test.js", 2)},
			Place{"test.js", 2}},
		{"without a line", frame("/w/a.c", 0), []profile.Frame{frame("/w/b.c", 1)}, Place{"b.c", 1}},
		{"a folder that begins alike", frame("/wide/a.c", 4), nil, Place{"/wide/a.c", 4}},
		{"a URL, as of JavaScript", frame("file:///w/a.mjs", 4), nil, Place{"a.mjs", 4}},
	}
	in := &Sources{Dir: "/w", Has: func(path string) bool { return path == "pkg/x.go" }}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &hang.Case{Moments: []hang.Moment{{Dumps: []*profile.Dump{{Process: profile.Process{PID: 7},
				Threads: []profile.Thread{{TID: 8, Stack: profile.Stack{Frames: tt.frames}}}}}}}}
			v := &hang.Verdict{Culprit: &hang.Culprit{PID: 7, TID: 8, Frame: &tt.named}}
			if got := in.Find(c, v); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	if got := in.Find(&hang.Case{}, &hang.Verdict{}); got != (Place{}) {
		t.Errorf("without a culprit: %+v", got)
	}
}

func TestLevels(t *testing.T) {
	for _, tt := range []struct {
		kind    hang.Kind
		trigger hang.TriggerKind
		want    Level
	}{
		{hang.Deadlock, hang.Asked, Error}, {hang.Moving, hang.Asked, Notice}, {hang.Moving, hang.Warned, Warning},
		{hang.Moving, hang.Deadline, Error}, {hang.Unknown, hang.Signalled, Error},
	} {
		c, v := &hang.Case{Trigger: hang.Trigger{Kind: tt.trigger}}, &hang.Verdict{Kind: tt.kind}
		if got := Annotations(c, v, Place{}); len(got) != 1 || got[0].Level != tt.want {
			t.Errorf("%s after %s: got %+v, want %s", tt.kind, tt.trigger, got, tt.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	for env, want := range map[string]Defaults{
		"": {}, "XML_OUTPUT_FILE=/x.xml TEST_UNDECLARED_OUTPUTS_DIR=/o": {},
		"TEST_TARGET=//a:b XML_OUTPUT_FILE=/x.xml TEST_UNDECLARED_OUTPUTS_DIR=/o": {"/o/fpstack", "/x.xml"},
		"TEST_TARGET=//a:b": {},
	} {
		if got := Places(environment(env)); got != want {
			t.Errorf("%q: got %+v, want %+v", env, got, want)
		}
	}
}
