package sampler

import "fmt"

// Hold runs f between two rounds of samples: no thread is stopped by us meanwhile, however long f
// takes. A program that is about to be suspended does that inside f. It may be called
// from any goroutine.
func (r *Recorder) Hold(f func()) { r.drive(f) }

// SetRate changes how many samples are wanted in a second, from the next round on. It fails for a
// rate that is not positive, and for a recording that goes as fast as it can.
func (r *Recorder) SetRate(hz float64) error {
	var err error
	r.drive(func() {
		if !(hz > 0) || r.opt.Rate == 0 {
			err = fmt.Errorf("change rate from %v to %v samples a second: both must be above 0", r.opt.Rate, hz)
			return
		}
		r.opt.Rate = hz
	})
	return err
}
