//go:build linux

package live

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/dev/peers.md again")

// row is what docs/dev/peers.md says of one program.
type row struct {
	program         string
	threads, frames int
	same            map[string]int // threads equal, by peer
	seen            map[string]int // threads compared, by peer
	reasons         map[string][]int
}

func newRow(program string) *row {
	return &row{program: program, same: map[string]int{}, seen: map[string]int{}, reasons: map[string][]int{}}
}

// count adds the threads and frames of a dump, once.
func (r *row) count(peer string, d *dump) {
	if peer != peers[0].name {
		return
	}
	for i := range d.Threads {
		r.threads++
		r.frames += len(physical(d.Threads[i].Stack.Frames))
	}
}

// note adds what became of one thread.
func (r *row) note(peer string, p parting, because *rule) {
	r.seen[peer]++
	if p.how == equal {
		r.same[peer]++
	}
	for i := range rules {
		if because == &rules[i] && !slices.Contains(r.reasons[peer], i+1) {
			r.reasons[peer] = append(r.reasons[peer], i+1)
		}
	}
}

// String is the row in Markdown.
func (r *row) String() string {
	cells := []string{r.program, fmt.Sprint(r.threads), fmt.Sprint(r.frames)}
	for _, p := range peers {
		cell := fmt.Sprintf("%d of %d", r.same[p.name], r.seen[p.name])
		slices.Sort(r.reasons[p.name])
		for _, n := range r.reasons[p.name] {
			cell += fmt.Sprintf(" [%d]", n)
		}
		cells = append(cells, cell)
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

var table []string

// report logs the row and keeps it for the table.
func (r *row) report(t *testing.T) {
	t.Log(r)
	table = append(table, r.String())
}

const (
	document = "../../docs/dev/peers.md"
	begin    = "<!-- table: go test ./tests/live -run TestPeers -update -->\n"
	end      = "<!-- end -->\n"
)

// writeTable puts rows and rules into the document, between its two marks.
func writeTable(t *testing.T) {
	t.Helper()
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has not the marks %q and %q", document, begin, end)
	}
	text := "| program | threads | frames | equal in eu-stack | equal in gdb |\n|---|--:|--:|---|---|\n" +
		strings.Join(table, "\n") + "\n\n"
	for i, r := range rules {
		text += fmt.Sprintf("%d. **%s, %s.** %s\n", i+1, r.peer, r.how, r.reason)
	}
	if err := os.WriteFile(document, []byte(before+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
