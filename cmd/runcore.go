package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/cores"
	"github.com/fpstack/fpstack/report"
	"github.com/fpstack/fpstack/report/folder"
	"github.com/fpstack/fpstack/report/publish"
	"github.com/fpstack/fpstack/text"
)

// treeCores are the flags of run that keep core files.
type treeCores struct {
	on    bool
	limit byteSize
}

func (o *treeCores) register(f *pflag.FlagSet) {
	o.limit = 2 << 30
	f.BoolVar(&o.on, "core", false, "with --report: write a core file of each process; holds all its memory, secrets "+
		"too")
	f.Var(&o.limit, "core-limit", "with --core: at most `SIZE` of memory in all core files together")
}

// keepCores writes a core of each process into the report, that of the culprit first, and says where they are.
func (r *runner) keepCores(ctx context.Context, c *hang.Case, v *hang.Verdict, pids []int, to *publish.Report) {
	if to.Folder() == nil {
		return
	}
	dir := to.Folder().Details().(reportDir).Dir
	o := &cores.Options{Files: &r.saves, Dir: dir, In: folder.Details, Stem: publish.Stem,
		Limit: int64(r.o.cores.limit), Until: time.Now().Add(r.o.killAfter), Gone: hasEnded}
	if limit, ok := ctx.Deadline(); ok && limit.Before(o.Until) {
		o.Until = limit
	}
	culprit := 0
	if v.Culprit != nil {
		culprit = v.Culprit.PID
	}
	cores.Keep(ctx, c, culprit, pids, o)
	r.sayCores(c, dir.Path())
	to.StoreText(c, v)
}

// sayCores says where the cores are, and what is wrong with some.
func (r *runner) sayCores(c *hang.Case, dir string) {
	names := map[int]string{}
	for i := range c.Processes {
		names[c.Processes[i].PID] = c.Processes[i].Name
	}
	const most = 5 // lines of what is wrong
	var size int64
	var longest time.Duration
	written, wrong := 0, 0
	for i := range c.Cores {
		one := &c.Cores[i]
		if one.File != "" {
			written++
			size += one.Written
		}
		longest = max(longest, one.Stopped)
		if one.Problem == "" {
			continue
		}
		if wrong++; wrong <= most {
			fmt.Fprintf(r.stderr, "fpstack: core of %s (%d): %s\n", text.Message(names[one.PID]), one.PID,
				report.Core(one))
		}
	}
	if wrong > most {
		fmt.Fprintf(r.stderr, "fpstack: %d further cores are cut or missing: hang.txt says why\n", wrong-most)
	}
	if written > 0 {
		fmt.Fprintf(r.stderr, "fpstack: %s in %s: %s; processes were stopped for up to %s\n",
			text.Count(written, "core"), text.Message(dir), text.Quantity(float64(size), "bytes"),
			text.Duration(longest))
	}
}
