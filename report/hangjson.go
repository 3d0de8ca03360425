package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// HangSchema is the value of "schema" in the document that HangJSON writes, described in
// docs/schema/fpstack.hang.1.schema.json.
const HangSchema = "fpstack.hang/1"

type hangDoc struct {
	Schema    string         `json:"schema"`
	Trigger   hang.Trigger   `json:"trigger"`
	Command   []string       `json:"command,omitempty"`
	Roots     []int          `json:"roots"`
	Began     time.Time      `json:"began,omitzero"`
	Triggered time.Time      `json:"triggered,omitzero"`
	Verdict   *verdictDoc    `json:"verdict,omitempty"`
	Processes []hang.Process `json:"processes"`
	Outside   []hang.Process `json:"outside,omitempty"`
	Threads   []hang.Judged  `json:"threads"`
	Moments   []momentDoc    `json:"moments"`
	Close     []closeDoc     `json:"close_samples,omitempty"`
	Activity  hang.Activity  `json:"activity"`
	Problems  []string       `json:"problems"`
	Cores     []hang.Core    `json:"cores,omitempty"`
	Killed    []hang.Killed  `json:"killed,omitempty"`
	Waits     *waitsFile     `json:"waits,omitempty"`
	Dumps     []*document    `json:"dumps,omitempty"`
	LeftOut   []string       `json:"left_out,omitempty"`
}

type verdictDoc struct {
	*hang.Verdict
	Hung    bool            `json:"hung"`
	Culprit *hangCulpritDoc `json:"culprit,omitempty"`
}

type hangCulpritDoc struct {
	*hang.Culprit
	Frame *frameDoc `json:"frame,omitempty"`
}

type momentDoc struct {
	Time     time.Time `json:"time,omitzero"`
	Counters []spanDoc `json:"counters"`
}

type spanDoc struct {
	TID    int         `json:"tid"`
	Before *counterDoc `json:"before"`
	After  *counterDoc `json:"after,omitempty"`
}

type counterDoc struct {
	hang.Counters
	Delay *time.Duration `json:"delay_ns,omitempty"`
}

type closeDoc struct {
	PID    int        `json:"pid"`
	TID    int        `json:"tid"`
	Calls  int        `json:"calls"`
	Stacks []stackDoc `json:"stacks"`
}

// HangJSON writes c and its verdict as one document that ends in a newline, indented unless opt wants it compact; a v
// that is nil is one that is not known yet. Of the stacks it has those of the last moment, as documents of JSON, unless
// opt leaves them out. Strings are as JSON has them.
func HangJSON(w io.Writer, c *hang.Case, v *hang.Verdict, opt Options) error {
	doc := hangDocument(c, v, &opt)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if !opt.Compact {
		encoder.SetIndent("", " ")
	}
	err := encoder.Encode(doc)
	if err == nil {
		_, err = w.Write(jsondoc.Printable(text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write JSON of a hang: %w", err)
	}
	return nil
}

func hangDocument(c *hang.Case, v *hang.Verdict, opt *Options) *hangDoc {
	doc := &hangDoc{Schema: HangSchema, Roots: c.Roots, Began: c.Began, Triggered: c.Triggered, Trigger: c.Trigger,
		Command: c.Command, Processes: c.Processes, Outside: c.Outside, Problems: c.Problems, Activity: c.Activity,
		Killed: c.Killed, Cores: c.Cores}
	for i := range c.Moments {
		doc.Moments = append(doc.Moments, momentDocument(&c.Moments[i]))
	}
	if v != nil {
		doc.Threads, doc.Verdict = v.Threads, &verdictDoc{Verdict: v, Hung: v.Kind.Hung()}
		if v.Culprit != nil {
			doc.Verdict.Culprit = &hangCulpritDoc{Culprit: v.Culprit}
		}
	}
	doc = lossless(doc)
	opt.Verbose = true // all that is known
	if v != nil && v.Culprit != nil && v.Culprit.Frame != nil {
		doc.Verdict.Culprit.Frame = frameDocument(v.Culprit.Frame, 0, opt)
	}
	if opt.NoDumps {
		doc.LeftOut = []string{"dumps", "close_samples", "waits"}
		return doc
	}
	for i := range c.Close {
		s := &c.Close[i]
		stacks := make([]stackDoc, 0, len(s.Stacks))
		for j := range s.Stacks {
			stacks = append(stacks, stackDoc{Complete: s.Stacks[j].Complete, Stop: profile.Lossless(s.Stacks[j].Stop),
				Detail: profile.Lossless(s.Stacks[j].Detail), Frames: frameDocuments(s.Stacks[j].Frames, 0, opt)})
		}
		doc.Close = append(doc.Close, closeDoc{s.PID, s.TID, s.Calls, stacks})
	}
	if n := len(c.Moments); n > 0 {
		last := &c.Moments[n-1]
		if last.Waits != nil {
			doc.Waits = waitsFileDocument(last.Waits)
		}
		for _, d := range last.Dumps {
			doc.Dumps = append(doc.Dumps, dumpDocument(d, opt))
		}
	}
	return doc
}

func momentDocument(m *hang.Moment) momentDoc {
	doc := momentDoc{Time: m.Time}
	for _, tid := range slices.Sorted(maps.Keys(m.Counters)) {
		s := m.Counters[tid]
		span := spanDoc{TID: tid, Before: counterDocument(s.Before)}
		if !s.After.Time.IsZero() {
			span.After = counterDocument(s.After)
		}
		doc.Counters = append(doc.Counters, span)
	}
	return doc
}

func counterDocument(c hang.Counters) *counterDoc {
	doc := &counterDoc{Counters: c}
	if !c.NoDelay {
		doc.Delay = &c.Delay
	}
	return doc
}

// jsonTime is t as RFC 3339 has it, nil where it has no form there or is not known.
func jsonTime(t time.Time) *time.Time {
	utc := t.UTC()
	if t.IsZero() || utc.Year() < 0 || utc.Year() > 9999 {
		return nil
	}
	return &utc
}
