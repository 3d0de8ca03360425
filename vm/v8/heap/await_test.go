package heap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

// TestAwaiting: the async functions that wait for the one on the stack are those of Error.stack, through a for await,
// an async generator and Promise.all.
func TestAwaiting(t *testing.T) {
	found := 0
	for _, node := range nodes {
		if _, err := os.Stat(filepath.Join(binaries, node, "bin/node")); err != nil {
			continue
		}
		found++
		for _, flags := range [][]string{{"--no-opt", "--no-sparkplug"}, {"--no-opt", "--always-sparkplug"}} {
			t.Run(node+" "+flags[1], func(t *testing.T) { awaiting(t, node, flags) })
		}
	}
	if found == 0 {
		t.Skip("scripts/build-node has not been run: no node in testdata/bin/node")
	}
}

func awaiting(t *testing.T, node string, flags []string) {
	p, all := start(t, node, append(flags, "testdata/await.js")...)
	var want []truthFrame
	for _, f := range all {
		if name, ok := strings.CutPrefix(f.function, "async "); ok && f.file != "" { // Promise.all has no place
			f.function = name
			want = append(want, f)
		}
	}
	var got []Call
	closures := 0
	for _, f := range p.frames() {
		waiting, err := p.Awaiting(f.function)
		if err != nil {
			t.Error(err)
		}
		var calls []Call
		for _, g := range waiting {
			c, err := p.Suspended(g)
			if err != nil {
				t.Error(err)
			}
			calls = append(calls, c)
		}
		if len(calls) > 0 {
			got = calls
			closures++
		}
	}
	if closures != 1 || len(got) != len(want) || len(want) < 5 {
		t.Errorf("%d closures, %d functions wait, want 1, %d", closures, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		g, w := p.name(got[i]), want[i]
		if g.name != w.function || g.file != w.file || g.line != w.line || g.column != w.column {
			t.Errorf("%d: %s %s:%d:%d, want %s %s:%d:%d", i, g.name, g.file, g.line, g.column, w.function, w.file,
				w.line, w.column)
		}
	}
}

// TestAwaitingLoops: promises that wait for themselves end.
func TestAwaitingLoops(t *testing.T) {
	d := draw(t)
	at := func(w Tagged) int { a, _ := w.Object(); return int(a - d.start) }
	set := func(object Tagged, offset int, w Tagged) { le.PutUint64(d.data[at(object)+offset:], uint64(w)) }
	function := d.object(d.Types.FirstFunction, 0, 0, 0, 0, 0)
	context := d.object(d.Types.FirstContext, smi(3), 0, 0, 0)
	generator := d.object(d.Types.AsyncFunction, 0, 0, function, 0, 0, smi(0), 0, 0, 0, 0)
	promise := d.object(d.Types.Promise, 0, 0, 0)
	reaction := d.object(d.Types.PromiseReaction, 0, 0, 0, function, 0)
	set(function, int(d.Layout.Function.Shared), d.shared(smi(0), d.object(d.Types.Oddball, 0)))
	set(function, int(d.Layout.Function.Context), context)
	set(context, 32, generator)
	set(generator, asyncPromise, promise)
	set(promise, promiseReactions, reaction)
	a, _ := function.Object()
	if calls, err := d.heap().Awaiting(a); err == nil || len(calls) > maxAwaiting {
		t.Errorf("%d functions, %v", len(calls), err)
	}
	// A reaction that fulfils the promise that it is of.
	set(reaction, int(d.Reaction.Fulfill), smi(0))
	set(reaction, int(d.Reaction.Promise), promise)
	if calls, err := d.heap().Awaiting(a); err == nil || len(calls) != 0 {
		t.Errorf("%d functions, %v", len(calls), err)
	}
	// A closure of the program that has a generator as a variable.
	set(function, int(d.Layout.Function.Shared), d.shared(smi(0), d.object(d.Types.Script, 0, 0, 0, 0, 0, 0, 0)))
	if calls, err := d.heap().Awaiting(a); err != nil || len(calls) != 0 {
		t.Errorf("no builtin: %d functions, %v", len(calls), err)
	}
	if calls, err := d.heap().Awaiting(mem.Addr(0x20)); err != nil || len(calls) != 0 {
		t.Errorf("no function: %d, %v", len(calls), err)
	}
}
