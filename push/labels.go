package push

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fpstack/fpstack/push/otlp"
)

// labelNames are the names that Pyroscope and Parca have for attributes.
var labelNames = map[string]string{"service.name": "service_name", "process.executable.name": "process",
	"host.name": "host", "container.id": "container_id", "k8s.pod.uid": "pod_uid", "k8s.node.name": "node"}

// LabelName is the name that an attribute has in Pyroscope and Parca, whose labels have no dots.
func LabelName(attribute string) string {
	if name, ok := labelNames[attribute]; ok {
		return name
	}
	return strings.ReplaceAll(attribute, ".", "_")
}

// Bounds of labels of a user's own. Pyroscope takes 30 labels, of which some are its own and ours.
const (
	maxLabels     = 16
	maxLabelName  = 128
	maxLabelValue = 1024
)

// ParseLabels reads labels of a user's own, NAME=VALUE each. A name is one that all stores take: letters, digits, _ and
// dots, which Pyroscope and Parca get as _.
// Source: prometheus.io/docs/concepts/data_model.
func ParseLabels(words []string) (labels []otlp.Attribute, err error) {
	taken := []string{"__name__", "thread"}
	for attribute, name := range labelNames {
		if attribute != "service.name" { // which a user may give
			taken = append(taken, name)
		}
	}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !ok || value == "":
			return nil, fmt.Errorf("label %q: want NAME=VALUE", word)
		case !isLabelName(name):
			return nil, fmt.Errorf("label %q: a name has letters, digits, _ and dots, and begins with a letter", name)
		case slices.Contains(taken, LabelName(name)):
			return nil, fmt.Errorf("label %q: fpstack sets it, or it is there twice", name)
		case len(value) > maxLabelValue || cleanValue(value) != value:
			return nil, fmt.Errorf("label %q: a value is at most %d bytes of UTF-8 on one line", name, maxLabelValue)
		}
		taken = append(taken, LabelName(name))
		labels = append(labels, otlp.Attribute{Key: name, Value: value})
	}
	if len(labels) > maxLabels {
		return nil, fmt.Errorf("%d labels: stores take at most %d", len(labels), maxLabels)
	}
	return labels, nil
}

func isLabelName(s string) bool {
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '_' || c == '.')) {
			return false
		}
	}
	return s != "" && len(s) <= maxLabelName
}

// cleanValue is a value as every store takes it: valid UTF-8 on one line, and not too long.
func cleanValue(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxLabelValue {
		s = strings.ToValidUTF8(s[:maxLabelValue], "")
	}
	return s
}

// cleanAttributes are attributes with values that every store takes.
func cleanAttributes(attributes []otlp.Attribute) []otlp.Attribute {
	clean := slices.Clone(attributes)
	for i := range clean {
		clean[i].Value = cleanValue(clean[i].Value)
	}
	return clean
}

// labels are those of r in the words of Prometheus, with the name of what is recorded. What is a number is no label: it
// would make a series of each value.
func (r *Recorded) labels(name string) map[string]string {
	labels := map[string]string{"__name__": name}
	for _, a := range r.Attributes {
		if value := cleanValue(a.Value); !a.Int && value != "" {
			labels[LabelName(a.Key)] = value
		}
	}
	return labels
}

// fewLabels are the labels of a sample that stores get: those with few values.
func fewLabels(labels map[string][]string) map[string][]string {
	few := map[string][]string{}
	for name := range otlp.Labels {
		if values := labels[name]; len(values) > 0 {
			few[name] = []string{cleanValue(values[0])}
		}
	}
	return few
}
