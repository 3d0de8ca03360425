package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/profile"
)

// hangSchema compiles the schema of a hang with those that it refers to.
func hangSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	const base = "https://github.com/fpstack/fpstack/docs/schema/"
	for _, name := range []string{"dump", "waits", "hang"} {
		name = "fpstack." + name + ".1.schema.json"
		f, err := os.Open(filepath.Join("../docs/schema", name))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(f)
		if err := errors.Join(err, f.Close(), compiler.AddResource(base+name, doc)); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile(base + "fpstack.hang.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// hungTest is a case with all that a case can have, whose names are name.
func hungTest(name string) (*hang.Case, *hang.Verdict) {
	at := time.Date(2026, 8, 1, 12, 25, 0, 0, time.UTC)
	counters := hang.Counters{CPU: time.Second, System: 10 * time.Millisecond, Voluntary: 3, Preemptive: 1, Start: 7133,
		Slept: time.Hour, Time: at}
	d := redis()
	d.Process.Comm = name
	c := &hang.Case{Trigger: hang.Trigger{Kind: hang.Deadline, After: 25 * time.Minute, Note: name},
		Command: []string{"make", name, "a b"}, Roots: []int{77}, Began: at.Add(-25 * time.Minute), Triggered: at,
		Processes: []hang.Process{{PID: 77, Parent: 1, Session: 77, Name: "make", Args: []string{"make", name},
			Exe: "/usr/bin/make", Dir: "/builds/" + name, State: "S", User: 1000, Started: at.Add(-25 * time.Minute),
			CPU: time.Second, ChildCPU: time.Minute, Threads: 1, Memory: 12 << 20,
			Variables: []string{"PATH", name}, Jobserver: "pipe:[123]"},
			{PID: 4121, Parent: 77, Name: name, Args: []string{name}, State: "S", Threads: 3, Fuse: true,
				LastOutput: "ok " + name, LockedFiles: []hang.LockedFile{{Path: name, Holder: 900}},
				Lines: []string{"socket " + name}}},
		Outside: []hang.Process{{PID: 900, Name: "postgres", Backend: hang.BackendInTransaction, State: "S",
			Threads: 1}},
		Moments: []hang.Moment{{Time: at.Add(-2 * time.Second),
			Counters: map[int]hang.Span{4121: {Before: counters, After: counters}, 77: {Before: counters}}},
			{Time: at, Dumps: []*profile.Dump{d}, Waits: bank()}},
		Close: []hang.CloseSamples{{PID: 4121, TID: 4121, Stacks: []profile.Stack{d.Threads[0].Stack}, Calls: 1}},
		Activity: hang.Activity{Network: 12, Commands: []string{name}, Began: 2, Repeats: []string{name},
			Executed: []hang.Executed{{PID: 78, Name: "sh", Now: name}}, Ended: []hang.Ended{{PID: 77, Name: name}}},
		Killed: []hang.Killed{{PID: 70, Name: name, Signal: "SIGTERM", Seen: at}},
		Cores: []hang.Core{{PID: 4121, File: "processes/4121-" + name + ".core", Size: 9 << 20, Written: 3 << 20,
			Left: 4096, Unread: 8192, Stopped: 12 * time.Millisecond, Problem: "it is cut: " + name},
			{PID: 77, Problem: "no core: " + name}},
		Problems: []string{"process 90: " + name}}
	v := &hang.Verdict{Kind: hang.Waiting, Sentence: "make (77) waits for " + name, Because: []string{name},
		Culprit: &hang.Culprit{PID: 4121, TID: 4121, Process: name, Frame: &d.Threads[0].Stack.Frames[1]},
		Threads: []hang.Judged{{PID: 4121, TID: 4121, Class: hang.Blocked, Why: "0 switches", CPU: 3}},
		Lacks:   c.Problems}
	return c, v
}

func TestHangJSONFitsSchema(t *testing.T) {
	schema := hangSchema(t)
	plain, verdict := hungTest("test_net")
	escapes, itsVerdict := hungTest("a\x1b[31m\n\\\xff\u202e")
	for name, tt := range map[string]struct {
		c   *hang.Case
		v   *hang.Verdict
		opt Options
	}{
		"all there is":   {plain, verdict, Options{}},
		"hostile names":  {escapes, itsVerdict, Options{}},
		"without dumps":  {plain, verdict, Options{NoDumps: true}},
		"no verdict yet": {plain, nil, Options{}},
		"compact":        {plain, verdict, Options{Compact: true}},
		"nothing was found": {&hang.Case{Trigger: hang.Trigger{Kind: hang.Asked}},
			&hang.Verdict{Kind: hang.Unknown}, Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := HangJSON(&out, tt.c, tt.v, tt.opt); err != nil {
				t.Fatal(err)
			}
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Bytes()))
			if err == nil {
				err = schema.Validate(doc)
			}
			if err != nil {
				t.Errorf("%v in:\n%s", err, out.String())
			}
			if broken := strings.Replace(out.String(), `"roots"`, `"stems"`, 1); broken == out.String() {
				t.Error("the document has no member roots")
			} else if doc, err = jsonschema.UnmarshalJSON(strings.NewReader(broken)); err != nil {
				t.Error(err)
			} else if schema.Validate(doc) == nil {
				t.Error("a document without roots passes")
			}
		})
	}
}

// TestHangJSONHasAllKinds: each class, verdict and trigger that there is may be written.
func TestHangJSONHasAllKinds(t *testing.T) {
	schema := hangSchema(t)
	check := func(c *hang.Case, v *hang.Verdict) {
		var out bytes.Buffer
		if err := HangJSON(&out, c, v, Options{}); err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(&out)
		if err == nil {
			err = schema.Validate(doc)
		}
		if err != nil {
			t.Error(err)
		}
	}
	asked := &hang.Case{Trigger: hang.Trigger{Kind: hang.Asked}}
	for _, k := range []hang.Kind{hang.Deadlock, hang.Waiting, hang.Busy, hang.Halted, hang.Starved, hang.Moving,
		hang.Unknown} {
		check(asked, &hang.Verdict{Kind: k})
	}
	for _, class := range []hang.Class{hang.Blocked, hang.Waking, hang.Spinning, hang.Going, hang.Hungry, hang.Still,
		hang.InDisk, hang.New, hang.Gone, hang.Unseen} {
		check(asked, &hang.Verdict{Kind: hang.Unknown, Threads: []hang.Judged{{PID: 1, TID: 1, Class: class}}})
	}
	for kind := range occasions {
		check(&hang.Case{Trigger: hang.Trigger{Kind: kind}}, &hang.Verdict{Kind: hang.Unknown})
	}
}

func TestHangFacts(t *testing.T) {
	for file, name := range map[string]string{"hang-facts": "test_net",
		"hang-facts-escapes": "a\x1b[31m\n\\\xff\u202e;"} {
		c, _ := hungTest(name)
		var out bytes.Buffer
		if err := HangFacts(&out, c, Options{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", file+".txt")
		if *update {
			if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	}
}
