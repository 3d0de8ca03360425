//go:build linux

package verdict

type faults = map[aspect]string

// known are the rows that are judged wrong today, each with the aspect and the reason. A row that is right is taken off
// it: there is none now, and none that is wrong "now and then".
var known = map[string]faults{}
