package perprocess

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/otlp"
)

// Relabel makes an attribute of another one, or of a fact that is sent under no name of its own.
type Relabel struct {
	from, to, value string
	match           *regexp.Regexp
}

// The facts of a process besides its attributes.
const (
	fromCgroup   = "cgroup"   // the path of its control group
	fromHostname = "hostname" // HOSTNAME of its environment, which container runtimes set, and which it may change
)

// NewRelabel reads a rule: where from matches as a whole, to becomes value, in which $1 and ${name} are what groups of
// match have. Without a match the whole is a group, without a value it is that.
func NewRelabel(from, match, to, value string) (*Relabel, error) {
	if match == "" {
		match = ".*"
	}
	if value == "" {
		value = "$0"
	}
	m, err := regexp.Compile("^(?:" + match + ")$")
	if err != nil {
		return nil, fmt.Errorf("relabel: match %q: %w", match, err)
	}
	if from == "" {
		return nil, fmt.Errorf("relabel: from: want %s, %s or the name of an attribute", fromCgroup, fromHostname)
	}
	if _, err := push.ParseLabels([]string{to + "=x"}); err != nil {
		return nil, fmt.Errorf("relabel: to: %w", err)
	}
	return &Relabel{from, to, value, m}, nil
}

// WantHostname reports whether a rule asks for the hostname.
func WantHostname(rules []*Relabel) bool {
	return slices.ContainsFunc(rules, func(r *Relabel) bool { return r.from == fromHostname })
}

// maxHostname is the longest hostname. Source: hostname(7).
const maxHostname = 253

// Hostname reads HOSTNAME of the environment that process pid below root was started with, "" if that is no hostname.
func Hostname(root string, pid int) string {
	environ := procfs.Read(filepath.Join(root, strconv.Itoa(pid), "environ"), 64<<10)
	for variable := range strings.SplitSeq(string(environ), "\x00") {
		name, ok := strings.CutPrefix(variable, "HOSTNAME=")
		if !ok {
			continue
		}
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") != "" ||
			len(name) > maxHostname {
			return ""
		}
		return name
	}
	return ""
}

// relabel does the rules in their order.
func (o *Options) relabel(id *Identity, attributes []otlp.Attribute) []otlp.Attribute {
	for _, r := range o.Relabel {
		from := map[string]string{fromCgroup: id.Cgroup, fromHostname: id.Hostname}[r.from]
		for _, a := range attributes {
			if a.Key == r.from {
				from = a.Value
			}
		}
		at := r.match.FindStringSubmatchIndex(from)
		if from == "" || at == nil {
			continue
		}
		if value := string(r.match.ExpandString(nil, r.value, from, at)); value != "" {
			attributes = set(attributes, otlp.Attribute{Key: r.to, Value: value})
		}
	}
	return attributes
}

// set adds an attribute, or gives it another value.
func set(attributes []otlp.Attribute, a otlp.Attribute) []otlp.Attribute {
	i := slices.IndexFunc(attributes, func(b otlp.Attribute) bool { return a.Key == b.Key })
	if i < 0 {
		return append(attributes, a)
	}
	attributes[i] = a
	return attributes
}
