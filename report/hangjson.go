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
	Schema    string           `json:"schema"`
	Trigger   triggerDoc       `json:"trigger"`
	Command   []string         `json:"command,omitempty"`
	Roots     []int            `json:"roots"`
	Began     *time.Time       `json:"began,omitempty"`
	Triggered *time.Time       `json:"triggered,omitempty"`
	Verdict   *verdictDoc      `json:"verdict,omitempty"`
	Processes []hangProcessDoc `json:"processes"`
	Outside   []hangProcessDoc `json:"outside,omitempty"`
	Threads   []judgedDoc      `json:"threads"`
	Moments   []momentDoc      `json:"moments"`
	Close     []closeDoc       `json:"close_samples,omitempty"`
	Activity  activityDoc      `json:"activity"`
	Problems  []string         `json:"problems"`
	Cores     []coreDoc        `json:"cores,omitempty"`
	Killed    []killedDoc      `json:"killed,omitempty"`
	Waits     *waitsFile       `json:"waits,omitempty"`
	Dumps     []*document      `json:"dumps,omitempty"`
	LeftOut   []string         `json:"left_out,omitempty"`
}

type triggerDoc struct {
	Kind  string `json:"kind"`
	After int64  `json:"after_ns,omitempty"`
	Note  string `json:"note,omitempty"`
}

type verdictDoc struct {
	Kind     string          `json:"kind"`
	Hung     bool            `json:"hung"`
	Sentence string          `json:"sentence"`
	Because  []string        `json:"because"`
	Culprit  *hangCulpritDoc `json:"culprit,omitempty"`
	Tests    []runTestDoc    `json:"tests,omitempty"`
	Lacks    []string        `json:"lacks"`
}

type runTestDoc struct {
	Runner string `json:"runner"`
	Name   string `json:"name"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	TID    int    `json:"tid,omitempty"`
}

type hangCulpritDoc struct {
	PID     int       `json:"pid"`
	TID     int       `json:"tid,omitempty"`
	Process string    `json:"process,omitempty"`
	Frame   *frameDoc `json:"frame,omitempty"`
}

type hangProcessDoc struct {
	PID       int             `json:"pid"`
	Parent    int             `json:"parent,omitempty"`
	Session   int             `json:"session,omitempty"`
	Name      string          `json:"name,omitempty"`
	Exe       string          `json:"exe,omitempty"`
	Args      []string        `json:"args"`
	Dir       string          `json:"cwd,omitempty"`
	State     string          `json:"state,omitempty"`
	User      uint32          `json:"user"`
	Started   *time.Time      `json:"started,omitempty"`
	CPU       int64           `json:"cpu_ns"`
	ChildCPU  int64           `json:"child_cpu_ns"`
	Threads   int             `json:"threads"`
	Memory    uint64          `json:"memory_bytes"`
	Variables []string        `json:"variables,omitempty"`
	Facts     []string        `json:"facts,omitempty"`
	Jobserver string          `json:"jobserver,omitempty"`
	Fuse      bool            `json:"fuse,omitempty"`
	Output    string          `json:"last_output,omitempty"`
	Backend   string          `json:"backend,omitempty"`
	Locked    []lockedFileDoc `json:"locked_files,omitempty"`
}

type lockedFileDoc struct {
	Path   string `json:"path"`
	Holder int    `json:"holder"`
}

type judgedDoc struct {
	PID   int    `json:"pid"`
	TID   int    `json:"tid"`
	Class string `json:"class"`
	Why   string `json:"why,omitempty"`
	CPU   int64  `json:"cpu_ns"`
}

type momentDoc struct {
	Time     *time.Time `json:"time,omitempty"`
	Counters []spanDoc  `json:"counters"`
}

type spanDoc struct {
	TID    int         `json:"tid"`
	Before counterDoc  `json:"before"`
	After  *counterDoc `json:"after,omitempty"`
}

type counterDoc struct {
	CPU        int64      `json:"cpu_ns"`
	System     int64      `json:"system_ns"`
	Delay      *int64     `json:"delay_ns,omitempty"`
	Voluntary  uint64     `json:"voluntary"`
	Preemptive uint64     `json:"preemptive"`
	Start      uint64     `json:"start_ticks,omitempty"`
	Slept      int64      `json:"slept_ns,omitempty"`
	Time       *time.Time `json:"time,omitempty"`
}

type killedDoc struct {
	PID    int        `json:"pid"`
	Name   string     `json:"name,omitempty"`
	Signal string     `json:"signal"`
	Seen   *time.Time `json:"seen,omitempty"`
}

type coreDoc struct {
	PID     int    `json:"pid"`
	File    string `json:"file,omitempty"`
	Size    int64  `json:"size_bytes"`
	Written int64  `json:"written_bytes"`
	Left    int64  `json:"left_out_bytes,omitempty"`
	Unread  int64  `json:"unread_bytes,omitempty"`
	Stopped int64  `json:"stopped_ns"`
	Problem string `json:"problem,omitempty"`
}

type closeDoc struct {
	PID    int        `json:"pid"`
	TID    int        `json:"tid"`
	Calls  int        `json:"calls"`
	Stacks []stackDoc `json:"stacks"`
}

type activityDoc struct {
	Network  uint64      `json:"network_bytes"`
	IO       uint64      `json:"io_bytes"`
	Output   uint64      `json:"output_bytes"`
	Commands []string    `json:"commands"`
	Began    int         `json:"began"`
	Repeats  []string    `json:"repeats,omitempty"`
	Executed []changeDoc `json:"executed,omitempty"`
	Ended    []changeDoc `json:"ended,omitempty"`
}

type changeDoc struct {
	PID  int    `json:"pid"`
	Name string `json:"name,omitempty"`
	Now  string `json:"now,omitempty"`
}

// HangJSON writes c and its verdict as one document that ends in a newline, indented unless opt wants it compact; a v
// that is nil is one that is not known yet. Of the stacks it has those of the last moment, as documents of JSON, unless
// opt leaves them out. Strings are as JSON has them.
func HangJSON(w io.Writer, c *hang.Case, v *hang.Verdict, opt Options) error {
	doc := hangDocument(c, &opt)
	if v != nil {
		doc.Verdict = verdictDocument(v, &opt)
		for i := range v.Threads {
			t := &v.Threads[i]
			doc.Threads = append(doc.Threads, judgedDoc{t.PID, t.TID, string(t.Class), profile.Lossless(t.Why),
				t.CPU.Nanoseconds()})
		}
	}
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

func hangDocument(c *hang.Case, opt *Options) *hangDoc {
	doc := &hangDoc{Schema: HangSchema, Roots: list(c.Roots), Began: jsonTime(c.Began),
		Triggered: jsonTime(c.Triggered),
		Trigger: triggerDoc{string(c.Trigger.Kind), c.Trigger.After.Nanoseconds(),
			profile.Lossless(c.Trigger.Note)},
		Processes: hangProcesses(c.Processes), Outside: hangProcesses(c.Outside), Threads: []judgedDoc{},
		Moments: []momentDoc{}, Problems: losslessAll(c.Problems),
		Activity: activityDocument(&c.Activity)}
	for _, k := range c.Killed {
		doc.Killed = append(doc.Killed, killedDoc{k.PID, profile.Lossless(k.Name), k.Signal, jsonTime(k.Seen)})
	}
	for i := range c.Cores {
		one := &c.Cores[i]
		doc.Cores = append(doc.Cores, coreDoc{one.PID, profile.Lossless(one.File), one.Size, one.Written, one.Left,
			one.Unread, one.Stopped.Nanoseconds(), profile.Lossless(one.Problem)})
	}
	if len(c.Command) > 0 {
		doc.Command = losslessAll(c.Command)
	}
	for i := range c.Moments {
		doc.Moments = append(doc.Moments, momentDocument(&c.Moments[i]))
	}
	opt.Verbose = true // all that is known
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

func activityDocument(a *hang.Activity) activityDoc {
	doc := activityDoc{Network: a.Network, IO: a.IO, Output: a.Output, Commands: losslessAll(a.Commands),
		Began: a.Began, Repeats: losslessAll(a.Repeats)}
	for _, e := range a.Executed {
		doc.Executed = append(doc.Executed, changeDoc{e.PID, profile.Lossless(e.Name), profile.Lossless(e.Now)})
	}
	for _, e := range a.Ended {
		doc.Ended = append(doc.Ended, changeDoc{PID: e.PID, Name: profile.Lossless(e.Name)})
	}
	return doc
}

func verdictDocument(v *hang.Verdict, opt *Options) *verdictDoc {
	doc := &verdictDoc{Kind: string(v.Kind), Hung: v.Kind.Hung(), Sentence: profile.Lossless(v.Sentence),
		Because: losslessAll(v.Because), Lacks: losslessAll(v.Lacks)}
	for _, t := range v.Tests {
		doc.Tests = append(doc.Tests, runTestDoc{t.Runner, profile.Lossless(t.Name), profile.Lossless(t.File),
			t.Line, t.TID})
	}
	if who := v.Culprit; who != nil {
		doc.Culprit = &hangCulpritDoc{PID: who.PID, TID: who.TID, Process: profile.Lossless(who.Process)}
		if who.Frame != nil {
			doc.Culprit.Frame = frameDocument(who.Frame, 0, opt)
		}
	}
	return doc
}

func hangProcesses(all []hang.Process) []hangProcessDoc {
	out := make([]hangProcessDoc, 0, len(all))
	for i := range all {
		p := &all[i]
		doc := hangProcessDoc{PID: p.PID, Parent: p.Parent, Session: p.Session, Name: profile.Lossless(p.Name),
			Exe: profile.Lossless(p.Exe), Args: losslessAll(p.Args), Dir: profile.Lossless(p.Dir),
			State: profile.Lossless(p.State), User: p.User, Started: jsonTime(p.Started), CPU: p.CPU.Nanoseconds(),
			ChildCPU: p.ChildCPU.Nanoseconds(), Threads: p.Threads, Memory: p.Memory,
			Variables: losslessAll(p.Variables), Facts: losslessAll(p.Lines), Jobserver: profile.Lossless(p.Jobserver),
			Fuse: p.Fuse, Output: profile.Lossless(p.LastOutput), Backend: string(p.Backend)}
		for _, f := range p.LockedFiles {
			doc.Locked = append(doc.Locked, lockedFileDoc{profile.Lossless(f.Path), f.Holder})
		}
		out = append(out, doc)
	}
	return out
}

func momentDocument(m *hang.Moment) momentDoc {
	doc := momentDoc{Time: jsonTime(m.Time), Counters: []spanDoc{}}
	for _, tid := range slices.Sorted(maps.Keys(m.Counters)) {
		s := m.Counters[tid]
		span := spanDoc{TID: tid, Before: counterDocument(&s.Before)}
		if !s.After.Time.IsZero() {
			after := counterDocument(&s.After)
			span.After = &after
		}
		doc.Counters = append(doc.Counters, span)
	}
	return doc
}

func counterDocument(c *hang.Counters) counterDoc {
	doc := counterDoc{CPU: c.CPU.Nanoseconds(), System: c.System.Nanoseconds(), Voluntary: c.Voluntary,
		Preemptive: c.Preemptive, Start: c.Start, Slept: c.Slept.Nanoseconds(), Time: jsonTime(c.Time)}
	if !c.NoDelay {
		delay := c.Delay.Nanoseconds()
		doc.Delay = &delay
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
