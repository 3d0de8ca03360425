package top

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// update is what the feeder hands to the loop.
type update struct {
	profile *profile.Profile // nil if there is none
	at      time.Duration    // since the begin
	stats   Stats
	err     error // of taking, or a *PanicError
	ended   bool  // there will be no more
	why     error // what ended the sampling, nil: all there was to sample has ended
}

// feeder takes a profile at each interval.
type feeder struct {
	src   Source
	opt   *Options
	begin time.Time
	timer *time.Timer
}

// newFeeder returns a feeder whose first take is due after first.
func newFeeder(src Source, opt *Options, first time.Duration) *feeder {
	return &feeder{src, opt, time.Now(), time.NewTimer(first)}
}

// next waits until a take is due or the sampling has ended, and takes it. It returns false
// if ctx ends before.
func (f *feeder) next(ctx context.Context) (update, bool) {
	var u update
	select {
	case <-ctx.Done():
		return u, false
	case <-f.timer.C:
	case u.why = <-f.opt.Ended:
		u.ended = true
	}
	f.take(&u)
	f.timer.Reset(f.opt.Every)
	return u, true
}

// take takes what there is into u.
func (f *feeder) take(u *update) {
	u.err = Guard(func() error { return u.take(f.src, f.begin) })
}

// feed hands updates on until ctx or the sampling ends.
func (f *feeder) feed(ctx context.Context, out chan<- update) {
	defer f.timer.Stop()
	for {
		u, ok := f.next(ctx)
		if !ok {
			return
		}
		select {
		case <-ctx.Done():
			return
		case out <- u:
		}
		if u.ended || isPanic(u.err) {
			return
		}
	}
}

func (u *update) take(src Source, begin time.Time) error {
	p, err := src.Take()
	u.at, u.stats = time.Since(begin), src.Stats()
	if err != nil {
		return fmt.Errorf("take profile: %w", err)
	}
	u.profile = p
	return nil
}

func isPanic(err error) bool {
	var p *PanicError
	return errors.As(err, &p)
}

// receive brings an update into the model. It fails if sampling or taking panicked.
func (m *model) receive(u update) error {
	if u.profile != nil {
		m.take(u.profile, u.at, u.stats)
	} else {
		m.stats = u.stats
	}
	if u.err != nil {
		m.problem(u.err.Error())
	}
	if u.ended {
		m.ended = true
		text := "what was sampled has ended"
		if u.why != nil {
			text = "sampling ended: " + u.why.Error()
		}
		m.problem(text)
		m.refresh()
	}
	for _, err := range []error{u.err, u.why} {
		if isPanic(err) {
			return err
		}
	}
	return nil
}
