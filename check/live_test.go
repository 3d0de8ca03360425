package check

import (
	"github.com/fpstack/fpstack/tests/harness"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	heading = regexp.MustCompile(`(?m)^([0-9a-f]+) <(.*)>:$`)
	pushFP  = regexp.MustCompile(`\spush\s+%[er]bp$`)
	setFP   = regexp.MustCompile(`\s(mov\s+%[er]sp,%[er]bp|lea\s+0x[0-9a-f]+\(%rsp\),%rbp)$`)
	// Between the two nothing else may be pushed, or rbp does not point to what was pushed.
	movesSP = regexp.MustCompile(`\s(push\s|sub\s.*,%[er]sp$)`)
	callAny = regexp.MustCompile(`\scall\s`)
	learnPC = regexp.MustCompile(`\scall\s.*(get_pc_thunk|\+0x5>$)`)
)

// objdumpVerdicts says what each function does with the frame pointer, by the text of objdump: it keeps
// it if it is pushed and set before the first call.
func objdumpVerdicts(t *testing.T, path string) map[uint64]verdict {
	t.Helper()
	harness.Need(t, "objdump")
	text := harness.Output(t, "objdump", "-d", "-w", "--no-show-raw-insn", path)
	out := map[uint64]verdict{}
	heads := heading.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		start, _ := strconv.ParseUint(text[h[2]:h[3]], 16, 64)
		body := text[h[1]:]
		if i+1 < len(heads) {
			body = text[h[1]:heads[i+1][0]]
		}
		out[start] = verdictOf(body)
	}
	return out
}

func verdictOf(body string) verdict {
	pushed := false
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, " \n")
		line, _, _ = strings.Cut(line, "  #")
		switch {
		case pushFP.MatchString(line):
			pushed = true
		case pushed && setFP.MatchString(line):
			return kept
		case movesSP.MatchString(line):
			pushed = false
		case learnPC.MatchString(line):
		case callAny.MatchString(line) && !strings.Contains(line, "runtime.morestack"):
			return missing
		}
	}
	return notNeeded
}

// TestFramesAgreeWithObjdump compares function by function. slack is how many may differ: objdump's
// order is that of addresses, ours that of the instructions as they run.
func TestFramesAgreeWithObjdump(t *testing.T) {
	for _, tt := range []struct {
		name  string
		slack float64
	}{
		{"threads", 0}, {"threads-fp", 0}, {"threads-O0", 0}, {"threads-notables", 0}, {"threads-notables-fp", 0},
		{"threads-clang", 0}, {"threads-clang-fp", 0}, {"threads-m32", 0}, {"threads-m32-fp", 0},
		{"threads-musl-static", 0}, {"threads-static", 0}, {"threads-rust", 0}, {"threads-rust-fp", 0},
		{"threads-go", 0.01}, {"deep-fp", 0}, {"signals-fp", 0}, {"except", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := built(t, tt.name)
			want := objdumpVerdicts(t, path)
			m := open(t, path)
			l := &inspection{m: m, out: &Module{}}
			l.all()
			list := l.withoutStartUp(l.inCode(l.symbols().list))
			differ, compared := 0, 0
			for _, f := range list {
				w, ok := want[uint64(f.Start)]
				if !ok {
					continue
				}
				compared++
				if got := l.judge(f); got != w {
					differ++
					s, _ := l.nameOf(f.Start)
					t.Logf("%#x %s: got %s, objdump has %s", f.Start, s, verdictNames[got], verdictNames[w])
				}
			}
			if compared == 0 || float64(differ) > tt.slack*float64(compared) {
				t.Errorf("%d of %d functions differ", differ, compared)
			}
		})
	}
}

var verdictNames = [...]string{"unclear", "kept", "missing", "not needed"}
