package exact

import (
	"strings"

	"github.com/fpstack/fpstack/unwind"
)

const (
	// jumpWindow is how many instructions before a jump its code may already have spoilt the
	// frames: an exception's landing writes the target's registers over those of its own frames.
	jumpWindow    = 128
	landingWindow = 512 // the same inside of the unwinder of libgcc
)

// known lists the functions in which a miss is explained, with the reason. A miss belongs to
// one if its innermost frame is in it.
var known = []struct{ function, cause string }{
	{"__longjmp", InJump},
	{"____longjmp_chk", InJump},
	{"longjmp", InJump},
	{"_longjmp", InJump},
	{"siglongjmp", InJump},
	{"setcontext", InJump},
	{"__setcontext", InJump},
	{"swapcontext", InJump},
	{"__swapcontext", InJump},
	{"uw_install_context_1", InJump},
	{"sigsetjmp", InJump}, // of musl: when it returns again, the truth knows its caller no more
	{"__sigsetjmp_tail", InJump},
	{"__x86_return_thunk", Thunk},
	{"runtime.mcall", GoSwitch},
	{"runtime.gogo", GoSwitch},
	{"gogo", GoSwitch},
}

// inChain lists functions that explain a walk which is right so far and ends early, wherever they are in the true
// chain:
// they gave the goroutine away, and the walk ends there. Where a signal met the one that resumes a goroutine, the walk
// is ahead: it shows where that goes on.
var inChain = []struct {
	function, cause string
	ahead           bool
}{
	{"runtime.mcall", GoSwitch, false},
	{resumer, GoSwitch, true},
	{"runtime.gopreempt_m", GoSwitch, false},
	{"runtime.goschedImpl", GoSwitch, false},
	{"runtime.preemptPark", GoSwitch, false},
}

// stackCalls lists the functions that go to another stack and keep where they came from, so that
// the frames there are below them.
var stackCalls = []string{"runtime.systemstack", "runtime.morestack", "runtime.asmcgocall", "runtime.nanotime1",
	"runtime.walltime", "time.now", "runtime.vgetrandom1"}

// resumer goes on with a goroutine, whose first function seems to be called by firstCaller.
const (
	resumer     = "gogo"
	firstCaller = "runtime.goexit"
)

// isTop reports whether Go marks the function of a symbol as the outermost of a stack, though C may have called it.
func isTop(symbol string) bool {
	switch function(symbol) {
	case "runtime.rt0_go", "runtime.mstart":
		return true
	}
	return false
}

// knownSite returns the cause of a miss whose place is known, "" for others.
func knownSite(m *Miss) string {
	for _, k := range known {
		if function(m.Symbol) == k.function {
			return k.cause
		}
	}
	if strings.HasPrefix(m.Symbol, "__x86_indirect_thunk_") {
		return Thunk
	}
	for i := range m.Truth {
		for _, k := range inChain {
			if i < len(m.names) && function(m.names[i]) == k.function && (k.ahead || agrees(m.Truth, m.Walked)) {
				return k.cause
			}
		}
	}
	return ""
}

// window is how many instructions before a jump the miss may stand and still be due to it.
func (m *Miss) window() uint64 {
	for i := range min(3, len(m.Truth)) {
		if i < len(m.names) && strings.HasPrefix(function(m.names[i]), "_Unwind_") {
			return landingWindow
		}
	}
	return jumpWindow
}

// function cuts the offset and the module off "name+0x12 [module]".
func function(symbol string) string {
	i := strings.Index(symbol, "+0x")
	if i < 0 {
		return symbol
	}
	name := symbol[:i]
	return strings.TrimSuffix(name, ".abi0")
}

// agrees reports whether the walked frames are the innermost ones of the truth.
func agrees(truth []uint64, walked []unwind.Frame) bool {
	for i := range walked {
		if i >= len(truth) || truth[i] != uint64(walked[i].PC) {
			return false
		}
	}
	return true
}
