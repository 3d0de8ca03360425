package coroutine

import (
	"testing"

	"github.com/fpstack/fpstack/maps/module"
)

// TestTriedIsBounded: pairs behind the last that is run are not run, and are missed.
func TestTriedIsBounded(t *testing.T) {
	l := looking{tried: map[[2]module.Vaddr]bool{}}
	for i := range module.Vaddr(maxTried) {
		l.tried[[2]module.Vaddr{i, i + 1}] = true
	}
	if l.try(1, 2); l.cut {
		t.Error("a pair that was tried before is missed")
	}
	if l.try(2, 1); !l.cut || len(l.tried) != maxTried {
		t.Errorf("missed: %v, %d were tried", l.cut, len(l.tried))
	}
}
