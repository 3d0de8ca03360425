package hang

import (
	"fmt"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// leastSince is from when on it is worth saying how long something has lasted: looks take some seconds.
const leastSince = time.Minute

// since says how long those threads have waited at least: ", for at least 26 min". "" where that is not known, is no
// matter or not long.
func (j *judging) since(tids ...int) string {
	least := time.Duration(0)
	for _, tid := range tids {
		slept := j.slept(tid)
		if slept < leastSince {
			return ""
		}
		if least == 0 || slept < least {
			least = slept
		}
	}
	if least == 0 {
		return ""
	}
	return ", for at least " + coarse(least)
}

// slept is how long a thread had not run at the last moment, at least; 0 if it has, or if that is not known.
func (j *judging) slept(tid int) time.Duration {
	if len(j.c.Moments) == 0 {
		return 0
	}
	first := j.c.Moments[0].Counters[tid].Before
	last := j.c.Moments[len(j.c.Moments)-1].Counters[tid].Before
	w := j.waiting[tid]
	switch class := j.classOf(tid); {
	case first.Slept == 0 || first.Start != last.Start || w != nil && w.Mode == profile.WaitTime:
		return 0
	case class == Blocked, class == InDisk, class == Still:
		return first.Slept + max(0, last.Time.Sub(first.Time))
	}
	return 0
}

// coarse is a time as a person says it, rounded down: "26 min", "3 h", "2 days".
func coarse(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%d days", d/day)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}
