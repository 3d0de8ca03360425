//go:build linux && amd64

package java

import (
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
)

// calledBy are the methods that call those of Stepped.
var calledBy = map[string][]string{
	"Stepped.rounds": {"Stepped.main"}, "Stepped.outer": {"Stepped.rounds"}, "Stepped.middle": {"Stepped.outer"},
	"Stepped.inner": {"Stepped.middle"}, "Stepped.leaf": {"Stepped.inner", "Stepped.outer"},
	"Stepped.sinkless": {"Stepped.leaf"}, "Stepped.locked": {"Stepped.inner"}, "Stepped.many": {"Stepped.inner"},
	"Stepped$Square.area":        {"Stepped.inner", "Stepped.middle", "Stepped.outer"},
	"Stepped$Circle.area":        {"Stepped.inner", "Stepped.middle", "Stepped.outer"},
	"java.lang.System.arraycopy": {"Stepped.inner"}, "Stepped$Second.get": {"Stepped.inner"},
}

// inStepped says what is wrong with a stack of Stepped, "" for nothing: each of its methods has the caller that it has.
func inStepped(s *profile.Stack) string {
	names := functions(sure(javaFrames(s)))
	if n := len(names); n == 0 || names[n-1] != "Stepped.main" || !s.Complete {
		return fmt.Sprintf("main is not at the end of %q", names)
	}
	for i, name := range names[:len(names)-1] {
		if callers, ok := calledBy[name]; ok && !slices.Contains(callers, names[i+1]) {
			return fmt.Sprintf("%s is called by %s", name, names[i+1])
		}
	}
	return ""
}

// TestStepped executes a thread instruction by instruction and walks it at each: hot code of the compilers with its
// prologues and epilogues, a trap where code gives up its own frame, and the return to a frame that was given up, as a
// class was loaded.
// The methods must be the ones that there can be, and the return addresses those that calls have pushed and no return
// has taken: what marks itself as incomplete counts apart, and nothing may be wrong.
func TestStepped(t *testing.T) {
	const few = 1_000
	steps := few
	if harness.All || *full {
		steps = 10_000
	}
	for _, version := range versions(t) {
		if version != "17" && !*full {
			continue
		}
		c2 := []string{"-XX:-TieredCompilation", "-XX:CompileCommand=dontinline,Stepped$*.area"}
		for _, row := range []struct {
			mode  string
			flags []string
			give  string // what to tell the program
		}{
			{"c2", c2, ""},
			{"c1", []string{"-XX:TieredStopAtLevel=1"}, ""},
			{"interpreted", []string{"-Xint"}, ""},
			{"trap", c2, "r"},
			{"replaced", c2, "l"},
		} {
			t.Run(version+"/"+row.mode, func(t *testing.T) {
				p := start(t, version, slices.Concat(row.flags, notInlined, []string{"Stepped"})...)
				s := stepOf(t, p, p.threadIn(t, "Stepped.rounds"))
				if row.give == "" {
					s.run(t, steps)
				} else if _, err := io.WriteString(p.in, row.give); err != nil {
					t.Fatal(err)
				} else {
					s.runTo(t, blobs[row.give])
					s.giveUp(t, few)
				}
				s.tell(t)
			})
		}
	}
}

// blobs are the JVM's code by which compiled code gives up its own frame, and one that it returns to, by parts of
// lower-case names.
var blobs = map[string][]string{
	"r": {"uncommontrapblob", "uncommon_trap"}, "l": {"deoptimizationblob", "deopt_blob", "deopt blob"},
}

// notInlined are the methods of Stepped that have frames of their own, as arguments; compilers are waited for.
var notInlined = func() []string {
	args := []string{"-Xbatch", "-XX:CompileCommand=quiet"}
	for _, name := range []string{"outer", "middle", "inner", "leaf", "locked", "many"} {
		args = append(args, "-XX:CompileCommand=dontinline,Stepped."+name)
	}
	return args
}()
