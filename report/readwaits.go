package report

import (
	"errors"
	"reflect"

	"github.com/fpstack/fpstack/profile"
)

// wait reads what a thread waits for.
func (in *dumpReader) wait() (*profile.Wait, error) {
	var doc *profile.Wait
	if err := in.Decode(&doc); err != nil || doc == nil {
		return nil, err
	}
	if doc.Left < 0 || doc.Length < 0 || doc.Lost < 0 {
		return nil, errors.New("left_ns or lost_owner of a wait is below 0")
	}
	var err error
	w := &profile.Wait{}
	in.original(reflect.ValueOf(w).Elem(), reflect.ValueOf(doc).Elem(), &err)
	return w, err
}

// waits reads what concerns several threads.
func (in *dumpReader) waits() error {
	var doc *waitsDoc
	if err := in.Decode(&doc); err != nil || doc == nil {
		return err
	}
	if doc.Waiting < 0 || doc.Owned < 0 {
		return errors.New("a number of waits is below 0")
	}
	for i := range doc.Cycles {
		if doc.Cycles[i].Stood < 0 {
			return errors.New("stood_ns of a cycle is below 0")
		}
	}
	var err error
	var to waitsDoc
	in.original(reflect.ValueOf(&to).Elem(), reflect.ValueOf(doc).Elem(), &err)
	in.dump.Waits = &profile.Waits{Cycles: to.Cycles, Roots: to.Roots, Waiting: to.Waiting, Owned: to.Owned}
	return err
}
