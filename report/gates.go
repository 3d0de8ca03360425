package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/doctor"
	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Examination is what `fpstack doctor` found: the gates between us and a process, or, with PID
// 0, between us and any process of ours.
type Examination struct {
	PID   int
	Comm  string
	Store string // address of a profile store that is examined instead of a process, "" for none
	Gates []doctor.Gate
	Place doctor.Place
	// Tried is what the kernel said to a trial that changes nothing: "" if it let us, else why
	// not. Trial says that one was made.
	Trial bool
	Tried string
}

// Passes reports whether the process can be sampled: what the kernel said if it was tried, else
// what the gates say.
func (e *Examination) Passes() bool {
	if e.Trial {
		return e.Tried == ""
	}
	state, _ := doctor.Verdict(e.Gates)
	return state != doctor.Closed
}

// anyUser reports whether we may sample what is not ours too.
func (e *Examination) anyUser() bool {
	return slices.ContainsFunc(e.Gates,
		func(g doctor.Gate) bool { return g.Name == doctor.Capability && g.State == doctor.Open })
}

// GatesText writes e for a person: a verdict, then a line for each gate with its remedy below; the verdict alone if
// nothing refuses and verbose is not set. Lines are of at most width cells, 0 for any.
func GatesText(w io.Writer, e *Examination, verbose bool, style Style, width int) error {
	b := bufio.NewWriter(w)
	if style == nil {
		style = func(_ Part, piece string) string { return piece }
	}
	who, verdict := e.verdict()
	fmt.Fprintln(b, style(Heading, who)+text.Wrap(who+" "+verdict, width, 2)[len(who):])
	if e.Passes() && !verbose {
		return b.Flush()
	}
	writeGates(b, e.Gates, style, width)
	if !e.Passes() && e.Store == "" && doctor.RightHelps(e.Gates) {
		fmt.Fprintln(b, "What gives the right to sample, by place:")
		for _, a := range doctor.AllPlaces() {
			mark := " "
			if a.Place == e.Place {
				mark = "*"
			}
			fmt.Fprintln(b, text.Wrap(fmt.Sprintf(" %s %-16s %s", mark, a.Place, a.Line), width, 20))
		}
	}
	return b.Flush()
}

// verdict words who was examined and what came of it.
func (e *Examination) verdict() (who, verdict string) {
	who, verdict = "our processes", "can be sampled"
	if e.Passes() && e.anyUser() {
		who = "processes of any user"
	}
	if !e.Passes() {
		verdict = "cannot be sampled"
	}
	switch {
	case e.Store != "" && e.Passes():
		who, verdict = text.Escape(e.Store), "takes profiles"
	case e.Store != "":
		who, verdict = text.Escape(e.Store), "takes no profiles"
	case e.PID != 0:
		who = fmt.Sprintf("process %d", e.PID)
		if e.Comm != "" {
			who += " " + text.Quote(e.Comm)
		}
	}
	switch state, gate := doctor.Verdict(e.Gates); {
	case !e.Passes() && gate != nil && state == doctor.Closed:
		verdict += ": " + text.Escape(gate.Says)
	case !e.Passes():
		verdict += ": " + text.Escape(e.Tried)
	case e.Trial:
		verdict += ": tried, and the kernel allowed it"
	case e.Store != "":
		verdict += ": " + text.Escape(e.Gates[len(e.Gates)-1].Says)
	}
	return who, verdict
}

// writeGates writes a line for each gate, with its remedy below.
func writeGates(w io.Writer, gates []doctor.Gate, style Style, width int) {
	for _, g := range gates {
		name, state := fmt.Sprintf("  %-27s ", g.Name), fmt.Sprintf("%-8s", g.State)
		indent := len(name) + len(state) + 1
		says := text.Wrap(name+state+" "+text.Escape(g.Says), width, indent)[len(name)+len(state):]
		if g.State == doctor.Closed {
			state = style(Cut, state)
		}
		fmt.Fprintln(w, name+state+says)
		if g.Remedy != "" && g.State != doctor.Open {
			fmt.Fprintln(w, text.Wrap(strings.Repeat(" ", indent)+text.Escape(g.Remedy), width, indent))
		}
	}
}

// GatesJSON writes e for a program, as an indented document that ends in a newline. Strings are
// written as [JSON] does; docs/schema describes it.
func GatesJSON(w io.Writer, e *Examination) error {
	type gate struct {
		Name   string `json:"name"`
		State  string `json:"state"`
		Says   string `json:"says"`
		Remedy string `json:"remedy,omitempty"`
	}
	doc := struct {
		Schema string `json:"schema"`
		PID    int    `json:"pid,omitempty"`
		Comm   string `json:"comm,omitempty"`
		Store  string `json:"store,omitempty"`
		Passes bool   `json:"passes"`
		Tried  string `json:"tried,omitempty"`
		Place  string `json:"place"`
		Gates  []gate `json:"gates"`
	}{"fpstack.doctor/1", e.PID, profile.Lossless(e.Comm), profile.Lossless(e.Store), e.Passes(),
		profile.Lossless(e.Tried), e.Place.String(), []gate{}}
	for _, g := range e.Gates {
		doc.Gates = append(doc.Gates, gate{g.Name, g.State.String(), profile.Lossless(g.Says),
			profile.Lossless(g.Remedy)})
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(doc)
	if err == nil {
		_, err = w.Write(jsondoc.Printable(text.Bytes()))
	}
	return err
}
