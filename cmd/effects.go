package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// rule says where an option of a command means nothing. An option is a flag, or a flag with one of its values:
// "fibers=all". A circumstance is an option that is given, "format=" with what the result is written as, or what else
// is known of a call: what it is about, as "a core file", and "output to a file".
type rule struct {
	options string // separated by blanks
	not     string // circumstances that it contradicts, separated by "|"; "" for none
	only    string // circumstances of which one must hold, separated by "|"; "" for no condition
	why     string
}

// Circumstances that no option is.
const (
	ofProcess = "a process"
	ofCommand = "a command"
	ofFile    = "a file"
	toFile    = "output to a file"
)

// rules are those of all commands, by the name of the command. docs/options.md is made from them, and a test runs each
// pair.
var rules = map[string][]rule{
	"fpstack": dumpRules, "dump": dumpRules,
	"record": slices.Concat(sampleRules, profileRules, []rule{
		{options: "tid dotnet-perf-map", not: ofCommand, why: "it is about a process that runs already"},
		{options: "no-source", only: "format=html", why: "only pages have source lines"},
		{options: "quiet", not: "verbose", why: "one says less, the other more"},
		{options: "color=always", not: "quiet", why: "there is no summary"},
		{options: "push-header", only: "push", why: "it is sent to a store"},
		{options: "type threads", not: "format=none", why: "the recording is sent and not written"},
	}),
	"top": slices.Concat(sampleRules, []rule{
		{options: "tid", not: ofCommand, why: "its thread ids are not known yet"},
		{options: "idle", not: "mode=cpu", why: "what waits takes no CPU time"},
		{options: "color=always", not: "json", why: "JSON has no colours"},
	}),
	"flame": slices.Concat(profileRules, []rule{
		{options: "absolute", only: "diff", why: "nothing is compared"},
		{options: "diff", not: "format=folded", why: "a line of folded text has one number"},
	}),
	"hang": slices.Concat(nameRules, textRules, []rule{
		{options: "watch looks children report", only: ofProcess, why: "it is about a process that runs"},
		{options: "sysroot", not: ofProcess, why: "it says where the files of a core are"},
		{options: "idle idle-cpu idle-output deadline", only: "watch", why: "nothing waits for it"},
		{options: "every", only: "looks", why: "the number of looks is not given"},
		{options: "report-env", only: "report", why: "it says what is in the report"},
	}),
	"run": slices.Concat(nameRules, []rule{
		{options: "report-env core", only: "report", why: "it goes into the folder of the report"},
		{options: "core-limit", only: "core", why: "no core file is written"},
		{options: "idle-cpu", only: "idle", why: "idle processes are not looked for"},
	}),
	"check": textRules,
	"doctor": slices.Concat(textRules, []rule{
		{options: "push-header push-token-file push-ca", only: "push", why: "no store is examined"},
	}),
	"agent": slices.Concat(sampleRules, []rule{
		{options: "metrics-any-host async-calls", only: "metrics", why: "no metrics are served"},
	}),
}

// nameRules are those of options that say how things are named.
var nameRules = []rule{
	{options: "debug-dir debuginfod", not: "names=none", why: "nothing is named"},
}

// textRules are those of results that are text or JSON.
var textRules = []rule{
	{options: "color=always", not: toFile + "|format=json", why: "neither files nor JSON have colours"},
	{options: "verbose", not: "format=json", why: "JSON has everything"},
}

// sampleRules are those of commands that sample over time.
var sampleRules = slices.Concat(nameRules, []rule{
	{options: "kernel", not: "mode=cpu", why: "what waits takes no CPU time"},
})

// profileRules are those of what profiles are written as.
var profileRules = []rule{
	{options: "min-share all waits", only: "format=html|format=svg", why: "it is about a flame graph"},
	{options: "title", only: "format=html|format=svg|format=speedscope", why: "the format has no heading"},
	{options: "threads", only: "format=html|format=svg|format=folded", why: "the format has the threads anyway"},
	{options: "open", only: "format=html|format=svg", why: "a browser shows only flame graphs"},
}

// dumpRules are those of a dump.
var dumpRules = slices.Concat(nameRules, textRules, []rule{
	{options: "children kernel dotnet-perf-map max-pause rolling no-stop waits", only: ofProcess,
		why: "it is about a process that runs"},
	{options: "sysroot", not: ofProcess, why: "it says where the files of a core are"},
	{options: "tid source save skip-frames names=none fibers=all", not: string(saved) + "|" + string(document),
		why: "it is shown as it was made"},
	{options: "max-frames unwind locals fibers native", not: string(document), why: "its stacks were walked already"},
	{options: "source no-group all", only: "format=text", why: "it is about text"},
	{options: "source", not: "names=functions|names=none", why: "no lines are looked for"},
	{options: "verbose", not: "format=gdb|format=folded|format=pprof", why: "the format has no place for more"},
	{options: "color=always", not: "format=gdb|format=folded|format=pprof", why: "the format has no colours"},
	{options: "rolling max-pause dotnet-perf-map locals fibers=all", not: "no-stop", why: "nothing is stopped"},
	{options: "locals fibers=all", not: "rolling", why: "all threads must be stopped at one instant"},
	{options: "fibers=all", not: "tid", why: "all threads must be stopped at one instant"},
	{options: "tid source save max-frames skip-frames fibers locals kernel unwind names native debug-dir " +
		"debuginfod dotnet-perf-map max-pause rolling no-stop format=gdb format=folded format=pprof", not: "waits",
		why: "it shows who waits for whom, and no stacks"},
})

// checkEffects refuses an option that has no effect in this call, and two that contradict. besides are circumstances
// that the flags do not show.
func checkEffects(command string, f *pflag.FlagSet, besides ...string) error {
	holds := map[string]bool{}
	f.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		holds[f.Name] = value != "false"
		if f.Name != "format" { // of which besides tells more: the ending of a file may say it
			holds[f.Name+"="+value] = true
		}
	})
	for _, b := range besides {
		holds[b] = true
	}
	for i := range rules[command] {
		if err := rules[command][i].check(holds); err != nil {
			return usageError{err}
		}
	}
	return nil
}

// check refuses the options of r where holds says that they mean nothing.
func (r *rule) check(holds map[string]bool) error {
	for _, option := range strings.Fields(r.options) {
		if !holds[option] {
			continue
		}
		if r.not != "" {
			for _, other := range strings.Split(r.not, "|") {
				if holds[other] {
					return fmt.Errorf("%s with %s: %s", spelled(option), spelled(other), r.why)
				}
			}
		}
		if r.only == "" {
			continue
		}
		needed := strings.Split(r.only, "|")
		if !slices.ContainsFunc(needed, func(other string) bool { return holds[other] }) {
			return fmt.Errorf("%s without %s: %s", spelled(option), anyOf(needed, spelled), r.why)
		}
	}
	return nil
}

// anyOf lists circumstances, as spell writes each: "gdb, folded or pprof output".
func anyOf(circumstances []string, spell func(string) string) string {
	const formats = " output"
	words := make([]string, len(circumstances))
	for i := range words {
		words[i] = spell(circumstances[i])
	}
	last := len(words) - 1
	for i := range last {
		if strings.HasSuffix(words[i], formats) && strings.HasSuffix(words[last], formats) {
			words[i] = strings.TrimSuffix(words[i], formats)
		}
	}
	if last < 1 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// spelled is how a person writes a circumstance.
func spelled(circumstance string) string {
	name, value, valued := strings.Cut(circumstance, "=")
	switch {
	case strings.Contains(name, " "):
		return circumstance
	case circumstance == "format=none":
		return "--push alone"
	case name == "format":
		return value + " output"
	case valued:
		return "--" + name + " " + value
	}
	return "--" + name
}
