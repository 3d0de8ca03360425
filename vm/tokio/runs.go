package tokio

import (
	"github.com/fpstack/fpstack/vm/moment"
)

// runBatch runs those tasks of which it was so at one moment what they have read. What is known of one already stays if
// less is known now.
func (d *dry) runBatch(tasks []task, which []int, out []ran) error {
	d.moment = moment.New(d.r.scratch, d.r.isMapped, d.r.budget)
	defer d.moment.Close()
	now, woken := make([]ran, len(which)), make([]way, len(which))
	for k, i := range which {
		now[k], woken[k] = d.runTask(&tasks[i])
	}
	same := d.moment.Settle()
	for k, i := range which {
		o := &now[k]
		polled, dropped, again := same[parts*k], same[parts*k+1], same[parts*k+2]
		switch o.moved = !dropped; {
		case o.why == nil && !polled:
			*o = nowhere(errChanged)
		case !dropped:
			o.drop = way{trace: -1}
		case again && woken[k].trace >= 0:
			o.way = woken[k]
		}
		if out[i].trace < 0 || o.trace >= 0 && o.drop.trace >= 0 {
			out[i] = *o
		}
	}
	if d.r.image.Keep != nil {
		for _, k := range d.moment.Kept(func(p moment.Part) bool { return same[p] }) {
			d.r.image.Keep(k)
		}
	}
	return d.moment.Err()
}

// parts are how many parts of a moment a task has.
const parts = 3

// runTask polls and drops a task, and polls it again after the futures were woken that it has in sets; each is a part.
func (d *dry) runTask(t *task) (o ran, woken way) {
	o, woken = nowhere(nil), way{trace: -1}
	o.way, o.why = d.poll(t)
	if d.moment.Part(); o.why == nil {
		o.drop, _ = d.drop(t)
	}
	if d.moment.Part(); o.drop.trace >= 0 && len(d.wakers) > 0 {
		unwoken, all := d.unwoken, false
		woken, all, _ = d.pollWoken(t, d.wakers)
		o.unwoken = unwoken || !all
	}
	d.moment.Part()
	return o, woken
}

// runAgain runs the few tasks once more of which it is not known what they await: one that finds no budget left in the
// thread does not come to the branches of a select!.
func (d *dry) runAgain(c *chains, tasks []task, out []ran) error {
	var which []int
	had := map[int]ran{}
	for i := range out {
		if c := out[i].chain; len(c) == 1 && c[0].awaits == awaitedUnknown && c[0].frames[0].Line != 0 {
			which, had[i] = append(which, i), out[i]
		}
	}
	if len(which) == 0 || len(which) > batch {
		return nil
	}
	err := d.runBatch(tasks, which, out)
	c.find(d.traces, tasks, which, out)
	for i, o := range had {
		if len(out[i].chain) == 0 {
			out[i] = o
		}
	}
	return err
}
