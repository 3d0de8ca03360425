//go:build linux

package manners

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tracer"
)

// togetherVariable has the probers of this program and of its helpers interrupt all threads at one
// moment, and collect them as they stop.
const togetherVariable = "MANNERS_TOGETHER"

func together() bool { return os.Getenv(togetherVariable) == "1" }

// TestSampledTogether repeats the tests of samples of single threads with samples of all of them at once.
func TestSampledTogether(t *testing.T) {
	t.Setenv(togetherVariable, "1")
	type row struct {
		name string
		test func(*testing.T)
	}
	for _, row := range harness.With([]row{
		{"rounds", TestSampledRounds}, {"signal storm", TestSampledSignalStorm},
		{"signal each sample", TestSampledSignalEachSample}, {"without a pause", TestSampledWithoutPause},
		{"job control", TestSampledJobControl}, {"exec", TestSampledExec}, {"exec of setuid", TestSampledExecSetuid},
		{"churn", TestSampledChurn}, {"own child", TestSampledOwnChild}, {"end", TestSampledEnd},
		{"leaderless", TestSampledLeaderless}, {"vfork parent", TestSampledVforkParent},
		{"into vfork", TestSampledIntoVfork},
		{"frozen", TestSampledFrozen}, {"throttled", TestSampledThrottled}, {"missing page", TestSampledMissingPage},
	}, row{"killed", TestSampledByKilled}, row{"killed in a storm", TestSampledByKilledInStorm}) {
		t.Run(row.name, row.test)
	}
}

// collectBound is how long all threads of a round are waited for that were interrupted together.
const collectBound = 5 * time.Second

// interruptAll interrupts all threads of tids at one moment, and collects them. It is called inside of Do.
func (k *prober) interruptAll(tids []int) error {
	var seized []*tracer.Copy
	for _, tid := range tids {
		w, err := k.watch(tid)
		if err != nil {
			return err
		}
		if w == nil {
			continue
		}
		c := new(tracer.Copy)
		if err := k.l.Seize(w, c, k.table); err != nil {
			if err := k.met(err); err != nil {
				return err
			}
			continue
		}
		seized = append(seized, c)
	}
	interrupted := 0
	for _, c := range seized {
		if err := k.l.Interrupt(c); err != nil {
			if err := k.met(err); err != nil {
				return err
			}
			continue
		}
		interrupted++
	}
	for end := time.Now().Add(collectBound); interrupted > 0; {
		c, err := k.l.Collect(time.Until(end))
		if c == nil {
			k.stuck += interrupted
			k.l.GiveUp()
			return nil
		}
		interrupted--
		if err := k.met(err); err != nil && !errors.Is(err, tracer.ErrDirty) {
			return err
		}
	}
	return nil
}
