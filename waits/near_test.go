package waits

import (
	"context"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/procfs"
)

// loopFiles is a process whose descriptor 4 is an epoll set with one end of a pipe. links are what others were asked
// for.
type loopFiles struct {
	*drawn
	own   []Holder // of the pipe, in the process itself
	all   []Holder // of the pipe
	links []string
}

func (d *loopFiles) Read(ctx context.Context, f *Facts, n Need) error {
	const pipe = "pipe:[12]"
	files := &f.Files
	if files.FDs == nil {
		*files = Files{FDs: map[FDKey]*FD{}, Holders: map[string][]Holder{}, Own: map[int]map[string][]Holder{},
			Children: map[int][]ChildProcess{}, States: map[int]ProcessState{}}
	}
	for _, key := range n.Files.FDs {
		if key.FD == 4 {
			files.FDs[key] = &FD{Link: "anon_inode:[eventpoll]", Type: AnonymousFile,
				Info: procfs.ParseFDInfo([]byte("tfd:        5 events:       19 data: 5\n"))}
			continue
		}
		files.FDs[key] = &FD{Link: pipe, Type: PipeFile, Inode: 12, Read: true}
	}
	for _, pid := range n.Files.Own {
		files.Own[pid] = map[string][]Holder{pipe: d.own}
	}
	for _, link := range n.Files.Links {
		d.links = append(d.links, link)
		files.Holders[link] = d.all
	}
	for _, pid := range n.Files.Children {
		files.Children[pid] = nil
	}
	for _, pid := range n.Files.States {
		files.States[pid] = ProcessState{Terminal: -1}
	}
	return d.drawn.Read(ctx, f, n)
}

// TestNear: of an event loop that waits at a pipe to itself the descriptors of others are read where it may be stuck,
// and nowhere else.
func TestNear(t *testing.T) {
	const epollWait = 232
	reads, writes := Holder{PID: 100, FD: 5, Read: true}, Holder{PID: 100, FD: 6, Write: true}
	other := Holder{PID: 300, FD: 6, Write: true}
	for _, row := range []struct {
		what     string
		near     bool
		timeout  uint64
		own, all []Holder
		asked    bool
		words    string
	}{
		{"it wakes by itself", true, 1000, []Holder{reads, writes}, nil, false,
			"waits for descriptors (5<pipe:[12]>), the process itself has the write end, timeout 1.00 s"},
		{"another has the end", true, 1000, []Holder{reads}, []Holder{reads, other}, true, ""},
		{"it may be stuck", true, ^uint64(0), []Holder{reads, writes}, []Holder{reads, writes}, true, ""},
		{"all are asked for", false, 1000, []Holder{reads, writes}, []Holder{reads, writes}, true,
			"waits for descriptors (5<pipe:[12]>), only the process itself has the write end, timeout 1.00 s"},
	} {
		d := &loopFiles{drawn: draw(inCall(100, epollWait, "", 4, heap, 10, row.timeout)), own: row.own, all: row.all}
		d.facts.Near = row.near
		g, err := Examine(context.Background(), d, d.facts)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(d.links, "pipe:[12]"); got != row.asked {
			t.Errorf("%s: others were asked: %v, want %v", row.what, got, row.asked)
		}
		brief := "waits for events: a pipe"
		if row.timeout == 1000 {
			brief += ", timeout 1.00 s"
		}
		if len(row.all) > 0 && row.all[0] == reads && slices.Contains(row.all, other) {
			brief = "waits for events: a pipe from 300, timeout 1.00 s"
		}
		if got := g.Brief(g.Of(100)); got != brief {
			t.Errorf("%s: in short %q, want %q", row.what, got, brief)
		}
		if got := g.Words(g.Of(100)); row.words != "" && got != row.words {
			t.Errorf("%s: it %q, want %q", row.what, got, row.words)
		}
		stuck := len(g.Cycles) > 0
		if want := row.timeout == ^uint64(0); stuck != want {
			t.Errorf("%s: stuck %v, want %v", row.what, stuck, want)
		}
	}
}
