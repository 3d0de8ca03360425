package ci

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fpstack/fpstack/text"
)

// Bounds of a case in JUnit's XML, so that what reads it shows it: bytes.
const (
	maxErrorMessage = 250
	maxErrorBody    = 64 << 10
)

// Test is what JUnit's XML has of one command.
type Test struct {
	Name    string // the command, any bytes
	Time    time.Time
	Seconds float64
	// Error is the verdict in one line; "" where the command ended by itself.
	Error string
	// Verdict is written if there is an Error.
	Verdict func(io.Writer) error
}

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suite   junitSuite
}

type junitSuite struct {
	XMLName   xml.Name `xml:"testsuite"`
	Name      string   `xml:"name,attr"`
	Tests     int      `xml:"tests,attr"`
	Failures  int      `xml:"failures,attr"`
	Errors    int      `xml:"errors,attr"`
	Skipped   int      `xml:"skipped,attr"`
	Seconds   string   `xml:"time,attr"`
	Timestamp string   `xml:"timestamp,attr,omitempty"`
	Case      junitCase
}

type junitCase struct {
	XMLName xml.Name    `xml:"testcase"`
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Seconds string      `xml:"time,attr"`
	Error   *junitError `xml:"error"`
}

type junitError struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Body    string `xml:",cdata"`
}

// WriteJUnit writes t as a document with one test: an error if the command hung, else one that passed.
// Characters that XML 1.0 does not have are left out.
func WriteJUnit(w io.Writer, t *Test) error {
	seconds := fmt.Sprintf("%.3f", max(t.Seconds, 0))
	suite := junitSuite{Name: "fpstack", Tests: 1, Seconds: seconds, Case: junitCase{Class: "fpstack.run",
		Name: xmlText(cut(text.Message(t.Name), maxErrorMessage, same)), Seconds: seconds}}
	if !t.Time.IsZero() {
		suite.Timestamp = t.Time.UTC().Format("2006-01-02T15:04:05") // as the schema has it: no zone
	}
	if t.Error != "" {
		body, err := written(t.Verdict)
		if err != nil {
			return err
		}
		suite.Errors = 1
		suite.Case.Error = &junitError{"hang", xmlText(cut(oneLine(t.Error), maxErrorMessage, same)),
			"\n" + cut(xmlText(strings.TrimSpace(body)), maxErrorBody, same) + "\n"}
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(junitSuites{Suite: suite}); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	return nil
}

// xmlText cleans each line of s for XML.
func xmlText(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = text.Clean(l, '?')
	}
	return strings.Join(lines, "\n")
}
