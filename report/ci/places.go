package ci

import "path"

// Defaults are places that the environment of a job gives to results, "" where it gives none.
type Defaults struct {
	Report string // a folder
	JUnit  string // a file
}

// Places gives those of Bazel, which starts what it runs without a shell that could fill them in. Source: Bazel's test
// encyclopedia, "Initial conditions".
func Places(getenv Getenv) Defaults {
	var d Defaults
	if getenv("TEST_TARGET") == "" {
		return d
	}
	if dir := getenv("TEST_UNDECLARED_OUTPUTS_DIR"); dir != "" {
		d.Report = path.Join(dir, "fpstack")
	}
	d.JUnit = getenv("XML_OUTPUT_FILE")
	return d
}
