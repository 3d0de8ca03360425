package report

import (
	"errors"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// loop reads the event loop of a thread. Its handles count as frames, of which a document has so many.
func (in *dumpReader) loop() (*profile.Loop, error) {
	l := &profile.Loop{}
	seen, err := in.Object(func(name string) error {
		switch name {
		case "handles":
			return in.List(in.limits.frames, func() error { return in.handle(l) })
		case "requests":
			return in.count(&l.Requests)
		case "problem":
			return in.word(&l.Problem)
		}
		return in.Skip()
	})
	if err != nil {
		return nil, err
	}
	return l, require(seen, "handles")
}

func (in *dumpReader) handle(to *profile.Loop) error {
	var doc handleDoc
	if err := in.Decode(&doc); err != nil {
		return err
	}
	if in.frames += 1 + len(doc.Calls); in.frames > in.limits.frames {
		return errors.New("more handles and frames than a dump has")
	}
	var err error
	h := profile.Handle{Kind: in.text(doc.Kind, &err), Keeps: doc.Keeps, Internal: doc.Internal, FD: -1,
		File: in.text(doc.File, &err), Detail: in.text(doc.Detail, &err), Every: max(0, time.Duration(doc.Every)),
		Object: in.text(doc.Object, &err)}
	if doc.FD != nil {
		h.FD = max(-1, *doc.FD)
	}
	if doc.In != nil {
		h.In, h.HasIn = time.Duration(*doc.In), true
	}
	for _, c := range doc.Calls {
		h.Calls = append(h.Calls, profile.Call{Event: in.text(c.Event, &err), Func: in.text(c.Function, &err),
			File: in.text(c.File, &err), Line: max(0, c.Line), Async: c.Async})
	}
	to.Handles = append(to.Handles, h)
	return err
}
