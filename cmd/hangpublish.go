package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fpstack/fpstack/report/ci"
)

// publish hands what was written to the CI system, and says where it is.
func (r *hangReport) publish(log io.Writer, l *ci.Log) {
	var files []ci.File
	if r.folder != nil {
		files = append(files, ci.File{Kind: ci.Report, Path: r.folder.Path()})
		if r.system == ci.Azure {
			files = append(files, ci.File{Kind: ci.Markdown, Path: filepath.Join(r.folder.Path(), "hang.md")})
		}
	}
	if path, err := filepath.Abs(r.o.junit); r.o.junit != "" && err == nil {
		files = append(files, ci.File{Kind: ci.JUnitXML, Path: path})
	}
	if err := ci.WriteFiles(log, r.commands(), files); err != nil {
		r.complain(err)
	}
	switch r.system {
	case ci.GitHub:
		r.stepSummary(l)
	case ci.Buildkite:
		r.annotate(l)
	}
}

// stepSummary adds the verdict to the summary of the step.
func (r *hangReport) stepSummary(l *ci.Log) {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return
	}
	err := func() error {
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
	}()
	if err != nil {
		r.complain(err)
	}
}

// forAgent is how long the program of a CI system may take for an annotation.
const forAgent = 5 * time.Second

// annotate gives the verdict to Buildkite's agent. Where there is none, the log has it.
func (r *hangReport) annotate(l *ci.Log) {
	agent, err := exec.LookPath("buildkite-agent")
	if err != nil {
		return
	}
	var text bytes.Buffer
	if err := ci.WriteSummary(&text, l, 0); err != nil {
		r.complain(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), forAgent)
	defer cancel()
	c := exec.CommandContext(ctx, agent, "annotate", "--style", l.Annotations[0].Level.Style(), "--context",
		"fpstack")
	c.Stdin, c.WaitDelay = &text, time.Second
	if out, err := c.CombinedOutput(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		var exit *exec.ExitError
		if errors.As(err, &exit) || ctx.Err() != nil {
			r.complain(fmt.Errorf("annotate the build: buildkite-agent: %w: %s", err, bytes.TrimSpace(out)))
		}
	}
}

// passed says in the file of --junit that the command ended by itself.
func (a *app) passed(o *reportOptions, command []string, began time.Time) {
	if o.junit == "" {
		return
	}
	r := &hangReport{app: a, o: o}
	r.writeJUnit(&ci.Test{Name: strings.Join(command, " "), Time: began, Seconds: time.Since(began).Seconds()})
}

// jobDeadline is the one that the CI system sets, and is said; 0 if it sets none.
func (a *app) jobDeadline() time.Duration {
	limit, ok := ci.Deadline(os.Getenv, time.Now())
	if !ok {
		a.complain(errors.New("--deadline auto: no variable says how long this job may take " +
			"(CI_JOB_TIMEOUT of GitLab, " +
			"BUILDKITE_TIMEOUT, TEST_TIMEOUT of Bazel): there is no deadline"))
		return 0
	}
	fmt.Fprintf(a.stderr, "fpstack: --deadline %s\n", &limit)
	return limit.After
}
