package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// baseline is the least that a CPU of each architecture must have, so that a setting of the machine that builds does
// not reach the program. Source: https://go.dev/wiki/MinimumRequirements.
var baseline = []string{"GOAMD64=v1", "GO386=sse2", "GOARM=6", "GOARM64=v8.0", "GOPPC64=power8",
	"GORISCV64=rva20u64", "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0"}

// buildAll builds the program of each architecture, and that of this machine, which writes the texts.
func (r *release) buildAll() error {
	for _, arch := range r.arches {
		if err := r.build(arch); err != nil {
			return err
		}
	}
	if !slices.Contains(r.arches, runtime.GOARCH) {
		return r.build(runtime.GOARCH)
	}
	return nil
}

func (r *release) build(arch string) error {
	cmd := exec.Command(filepath.Join(r.source, "scripts/build"), r.program(arch))
	cmd.Env = append(os.Environ(), baseline...)
	cmd.Env = append(cmd.Env, "GOOS=linux", "GOARCH="+arch, "FPSTACK_VERSION="+r.version,
		"FPSTACK_COMMIT="+r.commit, "FPSTACK_DATE="+r.date.Format(time.RFC3339))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build for %s: %w\n%s", arch, err, out)
	}
	return nil
}

// texts are what the program itself writes for an installation.
type texts struct {
	pages       []page // fpstack.1, fpstack-record.1, …
	completions map[string][]byte
}

// page is a manual page of section 1.
type page struct {
	name string
	text []byte
}

// ask runs the program of this machine and gives what it prints.
func (r *release) ask(args ...string) ([]byte, error) {
	cmd := exec.Command(r.program(runtime.GOARCH), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run fpstack %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}

// readTexts gets manual pages and completions from the program.
func (r *release) readTexts() error {
	commands, err := r.ask("__completeNoDesc", "man", "")
	if err != nil {
		return err
	}
	names := []string{""}
	for line := range strings.Lines(string(commands)) {
		if name := strings.TrimSpace(line); !strings.HasPrefix(name, ":") { // the last line is for the shell's script
			names = append(names, name)
		}
	}
	if !slices.Contains(names, "record") {
		return fmt.Errorf("list the commands: %q has no record", commands)
	}
	for _, name := range names {
		text, err := r.ask(strings.Fields("man " + name)...)
		if err != nil {
			return err
		}
		r.texts.pages = append(r.texts.pages, page{strings.TrimSuffix("fpstack-"+name, "-") + ".1", text})
	}
	r.texts.completions = map[string][]byte{}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if r.texts.completions[shell], err = r.ask("completion", shell); err != nil {
			return err
		}
	}
	return nil
}
