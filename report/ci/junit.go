package ci

import (
	"fmt"
	"html"
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

// WriteJUnit writes t as a document with one test: an error if the command hung, else one that passed.
// Characters that XML 1.0 does not have are left out.
func WriteJUnit(w io.Writer, t *Test) error {
	errors, inside := 0, ""
	if t.Error != "" {
		body, err := written(t.Verdict)
		if err != nil {
			return err
		}
		errors = 1
		inside = fmt.Sprintf("\n   <error type=\"hang\" message=\"%s\"><![CDATA[\n%s\n]]></error>\n  ",
			attribute(xmlText(cut(oneLine(t.Error), maxErrorMessage, same))),
			strings.ReplaceAll(cut(xmlText(strings.TrimSpace(body)), maxErrorBody, same), "]]>", "]]]]><![CDATA[>"))
	}
	when := ""
	if !t.Time.IsZero() {
		when = t.Time.UTC().Format(` timestamp="2006-01-02T15:04:05"`) // as the schema has it: no zone
	}
	seconds := fmt.Sprintf("%.3f", max(t.Seconds, 0))
	_, err := fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
 <testsuite name="fpstack" tests="1" failures="0" errors="%d" skipped="0" time="%s"%s>
  <testcase classname="fpstack.run" name="%s" time="%s">%s</testcase>
 </testsuite>
</testsuites>
`, errors, seconds, when, attribute(xmlText(cut(text.Message(t.Name), maxErrorMessage, same))), seconds, inside)
	if err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	return nil
}

// attribute escapes s as the value of an attribute: what a reader would make blanks of too.
func attribute(s string) string {
	return strings.NewReplacer("\n", "&#xA;", "\t", "&#x9;", "\r", "&#xD;").Replace(html.EscapeString(s))
}

// xmlText cleans each line of s for XML.
func xmlText(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = text.Clean(l, '?')
	}
	return strings.Join(lines, "\n")
}
