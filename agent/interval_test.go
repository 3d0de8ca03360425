package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/perprocess"
)

// TestPartsThatFail: what could be made of an interval goes to the stores though a part of it failed, which is said.
func TestPartsThatFail(t *testing.T) {
	m := newMachine()
	m.chosen[7], m.threads[7] = 1, 1
	bad := func(o *Options) {
		o.Parts = func(*profile.Profile, perprocess.Identifier) ([]push.Recorded, error) {
			return nil, errors.New("too deep")
		}
	}
	if err := run(t, m, time.Minute, bad, func(*Agent) {}); err != nil {
		t.Fatal(err)
	}
	if len(m.put) < 3 {
		t.Errorf("%d intervals were given to the store", len(m.put))
	}
	if said := strings.Join(m.said, "\n"); !strings.Contains(said, "too deep") {
		t.Errorf("said %q", said)
	}
}
