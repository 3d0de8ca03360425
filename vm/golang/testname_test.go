package golang

import (
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// TestNameOfATest: the name is found behind the runner, in the form of each release; strings that are no test's, and
// memory that ends, have none.
func TestNameOfATest(t *testing.T) {
	const object, strings = 0xc000100000, 0xc000200000
	for _, row := range []struct {
		name, runner, test string
		behind             int
		want               string
	}{
		{"since 1.25", testRunner, "TestTill/opens", 96, "TestTill/opens"},
		{"before", testRunner, "FuzzTill", 64, "FuzzTill"},
		{"another runner", "testing.tRunnEr", "TestTill", 64, ""},
		{"no name of a test", testRunner, "example.com/till", 96, ""},
		{"elsewhere", testRunner, "TestTill", 80, ""},
	} {
		b := make([]byte, testBytes)
		text := append([]byte(row.runner), row.test...)
		order.PutUint64(b[200:], strings)
		order.PutUint64(b[208:], uint64(len(row.runner)))
		order.PutUint64(b[200+row.behind:], strings+uint64(len(row.runner)))
		order.PutUint64(b[208+row.behind:], uint64(len(row.test)))
		for _, cut := range []int{0, 1} {
			memory := mem.NewOverlay(nil, mem.Range{Start: object, Data: b},
				mem.Range{Start: strings, Data: text[:len(text)-cut]})
			v := view.Over(memory, memory, work.New(1<<20, 1<<20))
			v.Within(testSteps)
			want := row.want
			if cut > 0 {
				want = ""
			}
			if got := testAt(&v, object); got != want {
				t.Errorf("%s, %d bytes less: %q, want %q", row.name, cut, got, want)
			}
		}
	}
}
