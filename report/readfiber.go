package report

import (
	"time"

	"github.com/fpstack/fpstack/profile"
)

func (in *dumpReader) fiberID() (*profile.FiberID, error) {
	var doc *fiberIDDoc
	if err := in.Decode(&doc); err != nil || doc == nil {
		return nil, err
	}
	var err error
	return &profile.FiberID{Kind: in.text(doc.Kind, &err), ID: doc.ID, Name: in.text(doc.Name, &err)}, err
}

func (in *dumpReader) fiber() error {
	var doc fiberDoc
	if err := in.Decode(&doc); err != nil {
		return err
	}
	var err error
	var locals map[int][]profile.Variable
	for _, l := range doc.Locals {
		if l == nil {
			continue
		}
		if err := in.addLocals(&locals, l); err != nil {
			return err
		}
	}
	in.dump.Fibers = append(in.dump.Fibers, profile.Fiber{Locals: locals, Kind: in.text(doc.Kind, &err), ID: doc.ID,
		Name: in.text(doc.Name, &err), AwaitedBy: doc.AwaitedBy, LoopTID: doc.LoopTID,
		HeldBy: doc.HeldBy, Timed: doc.Timed,
		Wait: profile.FiberWait(in.text(doc.Wait, &err)), Object: optional(doc.Object, &err),
		Test:  in.text(doc.Test, &err),
		State: in.text(doc.State, &err), Waits: max(0, time.Duration(doc.Waits)), Locked: doc.Locked,
		System: doc.System, TID: doc.TID, Stack: doc.Stack, Missing: in.text(doc.Missing, &err), Creator: doc.Creator})
	return err
}

func (in *dumpReader) fiberStack() error {
	var s profile.FiberStack
	seen, err := in.Object(func(name string) error {
		switch name {
		case "stack":
			return in.stack(&s.Stack)
		case "created_by":
			return in.List(in.limits.frames, func() error { return in.frame(&s.CreatedBy) })
		}
		return in.Skip()
	})
	if err != nil {
		return err
	}
	in.dump.FiberStacks = append(in.dump.FiberStacks, s)
	return require(seen, "stack")
}
