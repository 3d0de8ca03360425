package otlp

import (
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/profile"
)

// frameTypes are the values of profile.frame.type for kinds of frames that lie in no module.
// Source: opentelemetry.io/docs/specs/semconv/registry/attributes/profile.
var frameTypes = map[profile.Kind]string{profile.Kernel: "kernel", profile.JavaScript: "v8js",
	profile.Python: "cpython", profile.DotNet: "dotnet", profile.Java: "jvm", profile.PHP: "php"}

// frameType is the profile.frame.type of what lies in m, "" where there is no value for it. Frames that lie in no
// module are in a mapping that has their kind in brackets as its name.
func frameType(m *pprof.Mapping) string {
	if m == nil {
		return ""
	}
	inside, ok := strings.CutPrefix(m.File, "[")
	if !ok {
		return "native"
	}
	kind, _ := profile.KindNamed(strings.TrimSuffix(inside, "]"))
	return frameTypes[kind]
}
