package report

import (
	"errors"
	"fmt"
	"time"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// dumpReader holds what was read of one document.
type dumpReader struct {
	*jsondoc.Reader
	limits limits
	dump   profile.Dump
	schema string
	frames int
	words  map[string]string // names, each kept once
	known  map[int]int       // module id -> index
}

func (in *dumpReader) document() error {
	d := &in.dump
	seen, err := in.Object(func(name string) error {
		switch name {
		case "schema":
			if err := in.Decode(&in.schema); err != nil {
				return err
			}
			return in.checkSchema()
		case "time":
			return in.Decode(&d.Time)
		case "stopped_ns":
			return in.duration(&d.Stopped)
		case "rolling":
			return in.Decode(&d.Rolling)
		case "core":
			return in.Decode(&d.Core)
		case "no_stop":
			return in.Decode(&d.NoStop)
		case "batches":
			return in.count(&d.Batches)
		case "process":
			return in.process()
		case "threads":
			return in.List(in.limits.threads, in.thread)
		case "modules":
			return in.List(in.limits.modules, in.module)
		case "fibers":
			return in.List(in.limits.fibers, in.fiber)
		case "waits":
			return in.waits()
		case "fiber_stacks":
			return in.List(in.limits.threads, in.fiberStack)
		case "exited":
			return in.count(&d.Exited)
		case "late":
			return in.count(&d.Late)
		case "problems":
			return in.textList(&d.Problems)
		case "notes":
			return in.textList(&d.Notes)
		}
		return in.Skip()
	})
	if err != nil {
		return err
	}
	if err := in.checkSchema(); err != nil {
		return err
	}
	return require(seen, "process", "threads", "modules")
}

func (in *dumpReader) checkSchema() error {
	if in.schema == Schema {
		return nil
	}
	return fmt.Errorf("schema is %q, want %q", in.schema, Schema)
}

func (in *dumpReader) process() error {
	var p processDoc
	if err := in.Decode(&p); err != nil {
		return err
	}
	var err error
	in.dump.Process = profile.Process{PID: p.PID, Comm: in.text(p.Comm, &err), Exe: in.text(p.Exe, &err),
		Role: in.text(p.Role, &err), Arch: in.text(p.Arch, &err), Cmdline: in.texts(p.Cmdline, &err)}
	return err
}

func (in *dumpReader) thread() error {
	t := profile.Thread{}
	var err error
	seen, failed := in.Object(func(name string) error {
		switch name {
		case "tid":
			return in.Decode(&t.TID)
		case "name":
			return in.word(&t.Name)
		case "state":
			return in.word(&t.State)
		case "stopped_ns":
			return in.duration(&t.Stopped)
		case "not_stopped":
			return in.word(&t.NotStopped)
		case "counters":
			t.Counters, err = in.counters()
			return err
		case "no_user_code":
			return in.Decode(&t.NoUserCode)
		case "syscall":
			t.Syscall, err = in.syscall()
			return err
		case "wchan":
			return in.word(&t.Wchan)
		case "kernel_stack":
			return in.textList(&t.KernelStack)
		case "idle":
			return in.word(&t.Idle)
		case "fiber":
			t.Fiber, err = in.fiberID()
			return err
		case "wait":
			t.Wait, err = in.wait()
			return err
		case "signal":
			t.Signal, err = in.signal()
			return err
		case "locals":
			return in.List(in.limits.frames, func() error { return in.locals(&t.Locals) })
		case "event_loop":
			t.Loop, err = in.loop()
			return err
		case "runtime":
			t.Runtime, err = in.runtimeThread()
			return err
		case "stack":
			return in.stack(&t.Stack)
		}
		return in.Skip()
	})
	if failed != nil {
		return failed
	}
	in.dump.Threads = append(in.dump.Threads, t)
	return require(seen, "tid", "stack")
}

func (in *dumpReader) signal() (*profile.SignalInfo, error) {
	var doc *signalDoc
	if err := in.Decode(&doc); err != nil || doc == nil {
		return nil, err
	}
	var err error
	s := &profile.SignalInfo{Number: doc.Number, Name: in.text(doc.Name, &err), HasCode: doc.Code != nil,
		Cause: in.text(doc.Cause, &err), HasAddr: doc.Address != "", Sender: doc.Sender}
	s.Addr = optional(doc.Address, &err)
	if s.HasCode {
		s.Code = *doc.Code
	}
	return s, err
}

func (in *dumpReader) counters() (*profile.Counters, error) {
	var doc *countsDoc
	if err := in.Decode(&doc); err != nil || doc == nil {
		return nil, err
	}
	if doc.CPU < 0 || doc.Waited < 0 {
		return nil, errors.New("counters are negative")
	}
	return &profile.Counters{CPU: time.Duration(doc.CPU), Waited: time.Duration(doc.Waited),
		Switches: doc.Switches}, nil
}

func (in *dumpReader) syscall() (*profile.Syscall, error) {
	var doc *syscallDoc
	if err := in.Decode(&doc); err != nil || doc == nil {
		return nil, err
	}
	var err error
	call := &profile.Syscall{Number: doc.Number, Name: in.text(doc.Name, &err)}
	for _, a := range doc.Args {
		call.Args = append(call.Args, profile.Arg{Name: in.text(a.Name, &err), Value: unhex(a.Value, &err),
			Text: in.text(a.Text, &err), FD: in.text(a.FD, &err)})
	}
	return call, err
}

func (in *dumpReader) stack(s *profile.Stack) error {
	_, err := in.Object(func(name string) error {
		switch name {
		case "complete":
			return in.Decode(&s.Complete)
		case "stop":
			return in.word(&s.Stop)
		case "detail":
			return in.word(&s.Detail)
		case "frames":
			return in.List(in.limits.frames, func() error { return in.frame(&s.Frames) })
		}
		return in.Skip()
	})
	return err
}

// frame reads one frame. Its Module is the id until all modules are known.
func (in *dumpReader) frame(to *[]profile.Frame) error {
	if in.frames++; in.frames > in.limits.frames {
		return fmt.Errorf("more than %d frames", in.limits.frames)
	}
	var doc frameDoc
	if err := in.Decode(&doc); err != nil {
		return err
	}
	kind, ok := profile.KindNamed(doc.Kind)
	switch {
	case !ok:
		return fmt.Errorf("kind %q of a frame is not known", doc.Kind)
	case doc.Index < 0 || doc.Line < 0 || doc.Column < 0 || doc.Module != nil && *doc.Module < 0:
		return errors.New("index, line, column or module of a frame is below 0")
	case !doc.Inlined && doc.Address == "" && kind != profile.Python:
		return errors.New("a frame has no address")
	case !doc.Inlined && doc.Module != nil && doc.ModuleAddress == "":
		return errors.New("a frame in a module has no module_address")
	}
	var err error
	f := profile.Frame{Index: doc.Index, Inlined: doc.Inlined, Interrupted: doc.Interrupted, Kind: kind, Line: doc.Line,
		Column: doc.Column, Module: -1,
		Func: in.text(doc.Function, &err), Linkage: in.text(doc.Linkage, &err), File: in.text(doc.File, &err),
		Origin: in.text(doc.Origin, &err), Note: in.text(doc.Note, &err),
		Tier: in.text(doc.Tier, &err), Stub: doc.Stub, Async: doc.Async, Unsure: doc.Unsure, Gap: doc.Gap}
	if !doc.Inlined && doc.Address != "" {
		f.Addr = unhex(doc.Address, &err)
		f.Offset, f.ModuleAddr = optional(doc.Offset, &err), optional(doc.ModuleAddress, &err)
	}
	if doc.Module != nil {
		f.Module = *doc.Module
	} else if kind == profile.Wasm {
		f.ModuleAddr = optional(doc.WasmOffset, &err)
	}
	*to = append(*to, f)
	return err
}

func (in *dumpReader) module() error {
	var doc moduleDoc
	if err := in.Decode(&doc); err != nil {
		return err
	}
	if _, twice := in.known[doc.ID]; twice || doc.ID < 0 {
		return fmt.Errorf("module %d comes twice or is below 0", doc.ID)
	}
	var err error
	in.known[doc.ID] = len(in.dump.Modules)
	in.dump.Modules = append(in.dump.Modules,
		profile.Module{Path: in.text(doc.Path, &err), BuildID: in.text(doc.BuildID, &err),
			Base: unhex(doc.Base, &err), Symbols: in.texts(doc.Symbols, &err),
			DebugFile: in.text(doc.Debug, &err), Unread: in.text(doc.Unread, &err), Err: in.text(doc.Error, &err)})
	return err
}

// connect makes the module ids of frames indices, and checks those of stacks.
func (in *dumpReader) connect() error {
	for i := range in.dump.Fibers {
		if f := &in.dump.Fibers[i]; f.Stack < 0 || f.Stack >= len(in.dump.FiberStacks) {
			return fmt.Errorf("the stack of %s %d is number %d of %d", f.Kind, f.ID, f.Stack, len(in.dump.FiberStacks))
		}
	}
	for list := range in.dump.FrameLists() {
		frames := *list
		for k := range frames {
			id := frames[k].Module
			if id < 0 {
				continue
			}
			at, ok := in.known[id]
			if !ok {
				return fmt.Errorf("a frame lies in module %d, which is not listed", id)
			}
			frames[k].Module = at
		}
	}
	return nil
}
