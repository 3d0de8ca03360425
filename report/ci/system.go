package ci

import (
	"path"
	"strings"
	"time"
)

// System is a CI system whose log has commands, by the name that --ci takes.
type System string

// The systems with a form of their own. None writes plain text.
const (
	None      System = "none"
	GitHub    System = "github"
	GitLab    System = "gitlab"
	Azure     System = "azure"
	TeamCity  System = "teamcity"
	Buildkite System = "buildkite"
)

// A Choice is a system that may be named.
type Choice struct {
	System System
	Means  string // what it gets, for a person
	// form is made with a word that nobody can guess, and the time when a group begins.
	form func(token string, now time.Time) form
}

// Systems lists those that may be named.
var Systems = []Choice{
	{None, "plain text", func(string, time.Time) form { return plain{} }},
	{GitHub, "GitHub Actions: annotations, step summary, groups",
		func(token string, _ time.Time) form { return github{token: token} }},
	{GitLab, "GitLab: sections", func(_ string, now time.Time) form { return gitlab{at: now.Unix()} }},
	{Azure, "Azure Pipelines: issues, summary, groups", func(string, time.Time) form { return azure{} }},
	{TeamCity, "TeamCity: build problem, blocks, artifacts", func(string, time.Time) form { return teamcity{} }},
	{Buildkite, "Buildkite: groups, annotation", func(string, time.Time) form { return buildkite{} }},
}

// form gives that of s.
func (s System) form(token string, now time.Time) form {
	for _, c := range Systems {
		if c.System == s {
			return c.form(token, now)
		}
	}
	return plain{}
}

// Getenv gives a variable of the environment, "" for none; os.Getenv is one.
type Getenv func(name string) string

// toldBy is how a system shows itself, and where it puts the sources.
type toldBy struct {
	system     System
	name, want string   // of a variable, and its value; "" for any
	sources    []string // variables with the folder of the checkout
}

// told is read from the top: a system that imitates another one comes after it.
var told = []toldBy{
	{GitHub, "GITHUB_ACTIONS", "true", []string{"GITHUB_WORKSPACE"}},
	{GitLab, "GITLAB_CI", "true", []string{"CI_PROJECT_DIR"}},
	{Azure, "TF_BUILD", "true", []string{"BUILD_SOURCESDIRECTORY"}},
	{TeamCity, "TEAMCITY_VERSION", "", []string{"TEAMCITY_BUILD_CHECKOUTDIR"}},
	{Buildkite, "BUILDKITE", "true", []string{"BUILDKITE_BUILD_CHECKOUT_PATH"}},
	{None, "JENKINS_URL", "", []string{"WORKSPACE"}},
	{None, "CIRCLECI", "true", []string{"CIRCLE_WORKING_DIRECTORY"}},
	{None, "DRONE", "true", []string{"DRONE_WORKSPACE"}},
	{None, "CI_SYSTEM_NAME", "", []string{"CI_WORKSPACE"}},
	{None, "ARGO_NODE_ID", "", nil},
	{None, "BAZEL_TEST", "1", []string{"BUILD_WORKSPACE_DIRECTORY"}},
	{None, "TEST_TARGET", "", nil},
	{None, "CI", "", nil},
}

// Detect gives the system whose job we run in, None if it is none or one without commands.
func Detect(getenv Getenv) System {
	for _, t := range told {
		if t.shows(getenv) {
			return t.system
		}
	}
	return None
}

// InJob reports whether we run in a job of any CI system, also of one without commands.
func InJob(getenv Getenv) bool {
	for _, t := range told {
		if t.shows(getenv) {
			return true
		}
	}
	return false
}

func (t *toldBy) shows(getenv Getenv) bool {
	v := getenv(t.name)
	if t.name == "CI" {
		return v != "" && v != "0" && !strings.EqualFold(v, "false")
	}
	return v != "" && (t.want == "" || strings.EqualFold(v, t.want))
}

// Workspace is the folder of the sources in the job that we run in, absolute; "" if that is not known.
func Workspace(getenv Getenv) string {
	for _, t := range told {
		if !t.shows(getenv) {
			continue
		}
		for _, name := range t.sources {
			if dir := getenv(name); path.IsAbs(dir) {
				return path.Clean(dir)
			}
		}
	}
	return ""
}
