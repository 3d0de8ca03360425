package ci

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/fpstack/fpstack/text"
)

// maxSummary is how many bytes the summary of a step may have; a larger one is refused as a whole. Source: GitHub's
// documentation and its runner; an annotation of Buildkite has the same bound.
const maxSummary = 1 << 20

// WriteSummary writes the verdict of l and its groups as Markdown. taken is how many bytes the summary of the step has
// already. All text is in blocks of code, which no name of the target can end. It fails where w does, and if there is
// no room for the verdict.
func WriteSummary(w io.Writer, l *Log, taken int64) error {
	left := maxSummary - 1 - taken
	var out bytes.Buffer
	if taken > 0 {
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "## %s\n\n", l.Title)
	verdict, err := written(l.Verdict)
	if err != nil {
		return err
	}
	room := int(left) - out.Len()
	block, ok := codeBlock(verdict, min(room, maxSummary/2))
	if !ok {
		return fmt.Errorf("write summary: %d bytes are left of the %d of a step", max(left, 0), maxSummary)
	}
	out.WriteString(block)
	for _, g := range l.Groups {
		body, err := written(g.Text)
		if err != nil {
			return err
		}
		head := "\n<details><summary>" + g.Title + "</summary>\n\n"
		const foot = "\n</details>\n"
		if block, ok = codeBlock(body, int(left)-out.Len()-len(head)-len(foot)); ok && body != "" {
			out.WriteString(head + block + foot)
		}
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

func written(write func(io.Writer) error) (string, error) {
	if write == nil {
		return "", nil
	}
	var b bytes.Buffer
	err := write(&b)
	return b.String(), err
}

// codeBlock is s, whole lines of it, as a block of code of at most so many bytes; ok is false if none of it has room.
// Source: CommonMark 0.31, 4.5: a block ends with a line of at least as many marks as it began with.
func codeBlock(s string, room int) (block string, ok bool) {
	const mark, spare = "`", 80
	fence, run := 3, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		fence = max(fence, run+1)
	}
	fence = min(fence, maxFence)
	if fence == maxFence {
		s = strings.ReplaceAll(s, strings.Repeat(mark, maxFence), "…")
	}
	room -= 2*fence + len("text\n\n") + spare
	if room < 0 {
		return "", false
	}
	s = strings.TrimSuffix(s, "\n") + "\n"
	if len(s) > room {
		kept := s[:strings.LastIndexByte(s[:room], '\n')+1]
		if kept == "" {
			return "", false
		}
		left := strings.Count(s[len(kept):], "\n")
		s = kept + "… " + text.Count(left, "more line") + ", which the report has\n"
	}
	line := strings.Repeat(mark, fence)
	return line + "text\n" + s + line + "\n", true
}

// maxFence bounds the marks around a block.
const maxFence = 200
