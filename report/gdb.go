package report

import (
	"bufio"
	"fmt"
	"io"
	"path"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// GDB writes d as gdb's "thread apply all bt" does, for the many programs that read that: log
// analysers, stackcollapse-gdb.pl. Threads come in the order of their ids turned round, as
// there, the one that gdb calls Thread 1 last. Inlined functions have numbers of their own.
//
//	Thread 2 (LWP 4122 "bio_close_file"):
//	#0  0x00007f3a1b2f0e26 in pthread_cond_wait () from /lib/x86_64-linux-gnu/libc.so.6
//	#1  0x000055d0c1a2b3c4 in bioProcessBackgroundJobs () at bio.c:210
//
// Arguments are not known: the parentheses are empty. Grouping and styles do not apply.
// Sources: gdb manual, "Backtraces" and "Threads".
func GDB(w io.Writer, d *profile.Dump, opt Options) error {
	g := &gdbPrinter{w: bufio.NewWriterSize(w, 64<<10), dump: d, opt: opt}
	for i := len(d.Threads) - 1; i >= 0; i-- {
		g.thread(i+1, &d.Threads[i])
	}
	if err := g.w.Flush(); err != nil {
		return fmt.Errorf("write stacks of process %d: %w", d.Process.PID, err)
	}
	return nil
}

type gdbPrinter struct {
	w    *bufio.Writer
	dump *profile.Dump
	opt  Options
}

func (g *gdbPrinter) thread(number int, t *profile.Thread) {
	fmt.Fprintf(g.w, "\nThread %d (LWP %d %s):\n", number, t.TID, text.Quote(t.Name))
	frames := g.opt.visible(&t.Stack)
	for i := range frames {
		g.frame(i, &frames[i])
	}
	switch {
	case t.NotStopped != "":
		fmt.Fprintf(g.w, "(not stopped: %s)\n", text.Escape(t.NotStopped))
	case !t.Stack.Complete && t.Stack.Stop == "depth limit":
		fmt.Fprintf(g.w, "(More stack frames follow...)\n")
	case !t.Stack.Complete && len(t.Stack.Frames) > 0:
		fmt.Fprintf(g.w, "Backtrace stopped: %s\n", cutReason(&t.Stack))
	}
}

func (g *gdbPrinter) frame(number int, f *profile.Frame) {
	fmt.Fprintf(g.w, "#%-3d", number)
	if f.Kind == profile.Signal {
		// The blank behind it lets readers that want four words take the line.
		fmt.Fprintf(g.w, "<signal handler called> \n")
		return
	}
	if f.HasAddr() {
		fmt.Fprintf(g.w, "%s in ", address(f.Addr))
	}
	name := text.Escape(f.Func)
	if name == "" || f.Kind == profile.Unknown {
		name = unnamed
	}
	fmt.Fprintf(g.w, "%s () %s\n", name, g.where(f))
}

// where is the source position, else the module; gdb shows one of them.
func (g *gdbPrinter) where(f *profile.Frame) string {
	switch {
	case f.File != "" && !g.opt.NoLines && f.Line > 0:
		return fmt.Sprintf("at %s:%d", text.Escape(f.File), f.Line)
	case f.File != "" && !g.opt.NoLines:
		return "at " + text.Escape(f.File)
	case f.Module >= 0 && f.Module < len(g.dump.Modules):
		return "from " + text.Escape(path.Clean(g.dump.Modules[f.Module].Path))
	}
	return "from " + f.Kind.String()
}
