package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// JSON writes d as one indented document that ends in a newline; several dumps are several
// documents, one after the other. Threads are never grouped. Style, Group and Verbose of opt
// change nothing.
//
// Numbers of 64 bits are strings in hexadecimal, since many readers keep only 53 bits of a
// number. Strings of the target keep every byte: a backslash is \\ in the value and a byte
// that is no UTF-8 is \xNN. No character that does not print is in the output raw.
func JSON(w io.Writer, d *profile.Dump, opt Options) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	opt.Verbose = true // all that is known
	err := encoder.Encode(dumpDocument(d, &opt))
	if err == nil {
		_, err = w.Write(jsondoc.Printable(text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write JSON of process %d: %w", d.Process.PID, err)
	}
	return nil
}

func dumpDocument(d *profile.Dump, opt *Options) *document {
	doc := &document{
		Schema: Schema, Stopped: d.Stopped.Nanoseconds(), Rolling: d.Rolling, NoStop: d.NoStop, Core: d.Core,
		Exited: d.Exited, Late: d.Late,
		Process: processDoc{PID: d.Process.PID, Comm: profile.Lossless(d.Process.Comm),
			Cmdline: losslessAll(d.Process.Cmdline),
			Exe:     profile.Lossless(d.Process.Exe), Role: profile.Lossless(d.Process.Role),
			Arch: profile.Lossless(d.Process.Arch)},
		Threads: make([]*threadDoc, 0, len(d.Threads)), Modules: make([]*moduleDoc, 0, len(d.Modules)),
		Problems: losslessAll(d.Problems), Notes: losslessAll(d.Notes),
	}
	if d.Batches > 1 {
		doc.Batches = d.Batches
	}
	doc.Time = jsonTime(d.Time)
	for i := range d.Threads {
		doc.Threads = append(doc.Threads, threadDocument(d, &d.Threads[i], opt))
	}
	for i := range d.Fibers {
		doc.Fibers = append(doc.Fibers, fiberDocument(&d.Fibers[i]))
	}
	for i := range d.FiberStacks {
		s := &d.FiberStacks[i]
		doc.FiberStacks = append(doc.FiberStacks, &fiberStackDoc{Stack: stackDocument(d, &s.Stack, opt),
			CreatedBy: frameDocuments(s.CreatedBy, len(d.Modules), opt)})
	}
	if d.Waits != nil {
		doc.Waits = waitsDocument(d.Waits)
	}
	for i := range d.Modules {
		m := &d.Modules[i]
		doc.Modules = append(doc.Modules,
			&moduleDoc{ID: i, Path: profile.Lossless(m.Path), BuildID: profile.Lossless(m.BuildID),
				Base: jsondoc.Hex(m.Base), Symbols: losslessAll(m.Symbols),
				Debug: profile.Lossless(m.DebugFile), Unread: profile.Lossless(m.Unread),
				Error: profile.Lossless(m.Err)})
	}
	return doc
}

func threadDocument(d *profile.Dump, t *profile.Thread, opt *Options) *threadDoc {
	doc := &threadDoc{
		TID: t.TID, Name: profile.Lossless(t.Name), State: profile.Lossless(t.State), Stopped: t.Stopped.Nanoseconds(),
		NotStopped: profile.Lossless(t.NotStopped), NoUserCode: t.NoUserCode, Wchan: profile.Lossless(t.Wchan),
		KernelStack: losslessAll(t.KernelStack), Idle: profile.Lossless(t.Idle), Stack: stackDocument(d, &t.Stack, opt),
	}
	doc.Wait = waitDocument(t.Wait)
	if t.Fiber != nil {
		doc.Fiber = &fiberIDDoc{profile.Lossless(t.Fiber.Kind), t.Fiber.ID, profile.Lossless(t.Fiber.Name)}
	}
	if c := t.Counters; c != nil {
		doc.Counters = &countsDoc{c.CPU.Nanoseconds(), c.Waited.Nanoseconds(), c.Switches}
	}
	doc.Loop, doc.Runtime = loopDocument(t.Loop, opt), runtimeThreadDocument(t.Runtime)
	doc.Locals = localsDocuments(t.Locals)
	if t.Syscall != nil {
		doc.Syscall = syscallDocument(t.Syscall)
	}
	if s := t.Signal; s != nil {
		doc.Signal = &signalDoc{Number: s.Number, Name: profile.Lossless(s.Name),
			Cause: profile.Lossless(s.Cause), Sender: s.Sender}
		if s.HasCode {
			doc.Signal.Code = &s.Code
		}
		if s.HasAddr {
			doc.Signal.Address = jsondoc.Hex(s.Addr)
		}
	}
	return doc
}

func stackDocument(d *profile.Dump, s *profile.Stack, opt *Options) stackDoc {
	return stackDoc{Complete: s.Complete, Stop: profile.Lossless(s.Stop), Detail: profile.Lossless(s.Detail),
		Frames: frameDocuments(opt.visible(s), len(d.Modules), opt)}
}

func frameDocuments(frames []profile.Frame, modules int, opt *Options) []*frameDoc {
	out := make([]*frameDoc, 0, len(frames))
	for i := range frames {
		out = append(out, frameDocument(&frames[i], modules, opt))
	}
	return out
}

func fiberDocument(f *profile.Fiber) *fiberDoc {
	doc := &fiberDoc{Kind: profile.Lossless(f.Kind), ID: f.ID, Name: profile.Lossless(f.Name),
		State: profile.Lossless(f.State), Waits: f.Waits.Nanoseconds(), Locked: f.Locked,
		System: f.System, TID: f.TID, Stack: f.Stack,
		Missing: profile.Lossless(f.Missing), Creator: f.Creator, AwaitedBy: f.AwaitedBy, LoopTID: f.LoopTID,
		HeldBy: f.HeldBy, Timed: f.Timed,
		Wait: profile.Lossless(string(f.Wait)), Test: profile.Lossless(f.Test), Locals: localsDocuments(f.Locals)}
	if f.Object != 0 {
		doc.Object = jsondoc.Hex(f.Object)
	}
	return doc
}

func syscallDocument(call *profile.Syscall) *syscallDoc {
	doc := &syscallDoc{Number: call.Number, Name: profile.Lossless(call.Name), Args: make([]argDoc, 0, len(call.Args))}
	for _, a := range call.Args {
		doc.Args = append(doc.Args, argDoc{profile.Lossless(a.Name), jsondoc.Hex(a.Value), profile.Lossless(a.Text),
			profile.Lossless(a.FD)})
	}
	return doc
}

func frameDocument(f *profile.Frame, modules int, opt *Options) *frameDoc {
	doc := &frameDoc{
		Index: f.Index, Inlined: f.Inlined, Interrupted: f.Interrupted, Kind: f.Kind.String(),
		Function: profile.Lossless(f.Func), Origin: profile.Lossless(f.Origin), Note: profile.Lossless(f.Note),
		Tier: profile.Lossless(f.Tier), Stub: f.Stub, Async: f.Async, Unsure: f.Unsure, Gap: f.Gap,
	}
	if f.Func != "" {
		doc.Linkage = profile.Lossless(f.Linkage)
	}
	if f.HasAddr() {
		doc.Address = jsondoc.Hex(f.Addr)
		if f.HasOffset() && (f.Func != "" || f.Offset != 0) {
			doc.Offset = jsondoc.Hex(f.Offset)
		}
	}
	if f.File != "" && !opt.NoLines {
		doc.File, doc.Line = profile.Lossless(f.File), max(f.Line, 0)
		if doc.Line > 0 {
			doc.Column = max(f.Column, 0)
		}
	}
	if f.Module >= 0 && f.Module < modules {
		id := f.Module
		doc.Module = &id
		if !f.Inlined {
			doc.ModuleAddress = jsondoc.Hex(f.ModuleAddr)
		}
	} else if f.Kind == profile.Wasm && f.ModuleAddr != 0 {
		doc.WasmOffset = jsondoc.Hex(f.ModuleAddr)
	}
	return doc
}

// losslessAll returns an empty list for none, never null.
func losslessAll(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		out = append(out, profile.Lossless(s))
	}
	return out
}
