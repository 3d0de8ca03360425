//go:build linux

package verdict

import "strings"

// sometimes begins the reason of a fault that is not there each time: it need not be wrong.
const sometimes = "now and then: "

func isSteady(reason string) bool { return !strings.HasPrefix(reason, sometimes) }

type faults = map[aspect]string

// known are the rows that are judged wrong today, each with the aspect and the reason. The list shrinks.
var known = map[string]faults{}
