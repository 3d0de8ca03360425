package module_test

import (
	"errors"
	"runtime/debug"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
)

func TestGuard(t *testing.T) {
	cause := errors.New("cause")
	var short []byte
	var none *module.Module
	for _, row := range []struct {
		name string
		f    func() error
		want string
	}{
		{"no error", func() error { return nil }, ""},
		{"own error is kept", func() error { return cause }, "cause"},
		{"index out of range", func() error { _ = short[3]; return nil },
			`parse "x": malformed: runtime error: index out of range [3] with length 0`},
		{"nil pointer", func() error { _ = none.Path; return nil },
			`parse "x": malformed: runtime error: invalid memory address or nil pointer dereference`},
		{"panic with a text", func() error { panic("bad table") }, `parse "x": malformed: bad table`},
		{"nested", func() error {
			if err := module.Guard("y", func() error { panic("inner") }); err == nil {
				return errors.New("inner panic was lost")
			}
			panic("outer")
		}, `parse "x": malformed: outer`},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := module.Guard("x", row.f)
			if got := text(err); got != row.want {
				t.Errorf("Guard() = %q, want %q", got, row.want)
			}
			if debug.SetPanicOnFault(false) {
				t.Error("faults of the goroutine still panic behind Guard")
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
