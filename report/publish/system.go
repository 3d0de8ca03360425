package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fpstack/fpstack/report/ci"
)

// publish hands what was written to the CI system, and says where it is.
func (r *Report) publish(log io.Writer, l *ci.Log, fate Fate) {
	var files []ci.File
	if r.folder != nil {
		files = append(files, ci.File{Kind: ci.Report, Path: r.folder.Path()})
		if r.o.System == ci.Azure {
			files = append(files, ci.File{Kind: ci.Markdown, Path: filepath.Join(r.folder.Path(), "hang.md")})
		}
	}
	if path, err := filepath.Abs(r.o.JUnit); r.o.JUnit != "" && err == nil {
		files = append(files, ci.File{Kind: ci.JUnitXML, Path: path})
	}
	if err := ci.WriteFiles(log, r.commands(), files); err != nil {
		r.m.Complain(err)
	}
	r.stepSummary(l)
	if fate != Open {
		r.annotate(l)
	}
}

// stepSummary adds the verdict to the summary of the step of GitHub.
func (r *Report) stepSummary(l *ci.Log) {
	path := r.m.Getenv("GITHUB_STEP_SUMMARY")
	if r.o.System != ci.GitHub || path == "" {
		return
	}
	err := r.timed(func() error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
		if err != nil {
			return fmt.Errorf("open step summary: %w", err)
		}
		info, err := f.Stat()
		if err != nil {
			return errors.Join(fmt.Errorf("read step summary: %w", err), f.Close())
		}
		var text bytes.Buffer // one write: a summary that is cut would show nothing of what follows
		if err := ci.WriteSummary(&text, l, info.Size()); err != nil {
			return errors.Join(err, f.Close())
		}
		_, err = f.Write(text.Bytes())
		return errors.Join(err, f.Close())
	})
	if err != nil {
		r.complain("write step summary", err)
	}
}

// forAgent is how long the program of a CI system may take for an annotation.
const forAgent = 5 * time.Second

// annotate gives the verdict to Buildkite's agent. Where there is none, the log has it.
func (r *Report) annotate(l *ci.Log) {
	if r.o.System != ci.Buildkite {
		return
	}
	agent, err := exec.LookPath("buildkite-agent")
	if err != nil {
		return
	}
	var text, out bytes.Buffer
	if err := ci.WriteSummary(&text, l, 0); err != nil {
		r.m.Complain(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), forAgent)
	defer cancel()
	c := exec.CommandContext(ctx, agent, "annotate", "--style", l.Annotations[0].Level.Style(), "--context",
		"fpstack")
	c.Stdin, c.Stdout, c.Stderr, c.WaitDelay = &text, &out, &out, time.Second
	if err = r.m.Helper(c); err == nil {
		err = c.Wait()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) || ctx.Err() != nil {
		r.m.Complain(fmt.Errorf("annotate the build: buildkite-agent: %w: %s", err, bytes.TrimSpace(out.Bytes())))
	}
}
