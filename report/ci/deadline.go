package ci

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/text"
)

// Limit is a deadline that the CI system sets.
type Limit struct {
	After time.Duration // from now, with the margin taken off
	From  string        // the variable that said it
	Whole time.Duration // what the variable said
	// Margin is what was taken off: time to capture, to end the command and to store what was found.
	Margin time.Duration
}

func (l *Limit) String() string {
	return fmt.Sprintf("%s, from %s (%s) less %s", text.Typed(l.After.Round(time.Second)), l.From,
		text.Typed(l.Whole), text.Typed(l.Margin))
}

// jobLimits are the variables that say how long a job may take.
// Sources: GitLab's predefined variables; Buildkite's environment variables (false where there is no limit); Bazel's
// test encyclopedia, which gives its own grace.
var jobLimits = []struct {
	name, began string // variables: the limit, and when the job began (RFC 3339)
	unit        time.Duration
	margin      time.Duration // at least
	share       time.Duration // one part of so many
}{
	{"CI_JOB_TIMEOUT", "CI_JOB_STARTED_AT", time.Second, time.Minute, 20},
	{"BUILDKITE_TIMEOUT", "", time.Minute, time.Minute, 20},
	{"TEST_TIMEOUT", "", time.Second, 10 * time.Second, 0},
}

// LimitVariables are the variables that say how long a job may take.
func LimitVariables() (names []string) {
	for _, l := range jobLimits {
		names = append(names, l.name)
	}
	return names
}

// Deadline is the one that the environment shows, with a margin; ok is false if it shows none. A limit that is shorter
// than twice its margin is halved.
func Deadline(getenv Getenv, now time.Time) (limit Limit, ok bool) {
	for _, l := range jobLimits {
		n, err := strconv.ParseInt(getenv(l.name), 10, 32)
		if err != nil || n <= 0 {
			continue
		}
		limit = Limit{From: l.name, Whole: time.Duration(n) * l.unit, Margin: l.margin}
		if l.share > 0 {
			limit.Margin = max(limit.Margin, limit.Whole/l.share)
		}
		limit.Margin = min(limit.Margin, limit.Whole/2)
		left := limit.Whole
		began, err := time.Parse(time.RFC3339, getenv(l.began))
		if passed := now.Sub(began); l.began != "" && err == nil && passed > 0 && passed < limit.Whole {
			left -= passed
		}
		if limit.After = left - limit.Margin; limit.After <= 0 {
			limit.After = left / 2
		}
		return limit, limit.After > 0
	}
	return Limit{}, false
}
