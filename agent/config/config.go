// Package config reads the file that says what `fpstack agent` does: which processes it records, and any option of its
// command line. What is not known, twice there or of another kind is refused, with its line.
//
// Source: YAML 1.2, by go.yaml.in/yaml/v3.
package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fpstack/fpstack/agent/choose"
)

// MaxSize bounds a file, bytes.
const MaxSize = 1 << 20

// maxRules bounds the rules of each list.
const maxRules = 1000

// File is what a file says.
type File struct {
	Processes []choose.Rule
	Exclude   []choose.Rule
	Relabel   []Relabel
	Options   []Option // in the order of the file
}

// Relabel is a rule that makes an attribute of what is known of a process: perprocess.NewRelabel says what of what.
type Relabel struct {
	From, Match, To, Value string
	Line                   int
}

// Option is an option of the command line, by its name without dashes.
type Option struct {
	Name   string
	Values []string
	Line   int
}

// Parse reads a file. isOption reports whether there is an option of that name.
func Parse(text []byte, isOption func(name string) bool) (*File, error) {
	var doc yaml.Node
	if len(text) > MaxSize {
		return nil, fmt.Errorf("larger than %d bytes", MaxSize)
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	f := &File{}
	if len(doc.Content) == 0 {
		return f, nil
	}
	return f, each(doc.Content[0], "the file", func(key, value *yaml.Node) (err error) {
		switch {
		case key.Value == "processes":
			f.Processes, err = rules(value, "processes", true)
		case key.Value == "exclude":
			f.Exclude, err = rules(value, "exclude", false)
		case key.Value == "relabel":
			f.Relabel, err = relabels(value)
		case isOption(key.Value):
			var values []string
			values, err = scalars(value, key.Value)
			f.Options = append(f.Options, Option{key.Value, values, key.Line})
		default:
			err = at(key, "unknown key %q", key.Value)
		}
		return err
	})
}

// at is an error at a line.
func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %w", n.Line, fmt.Errorf(format, args...))
}

// each calls do with the keys of a map and their values.
func each(n *yaml.Node, what string, do func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "%s: want keys with values", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return at(key, "%s: want a word as a key", what)
		}
		if seen[key.Value] {
			return at(key, "key %q is there twice", key.Value)
		}
		seen[key.Value] = true
		if err := do(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// scalars are a value, or a list of them.
func scalars(n *yaml.Node, what string) ([]string, error) {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	var out []string
	for _, v := range nodes {
		if v.Kind != yaml.ScalarNode || v.Tag == "!!null" {
			return nil, at(v, "%s: want a value, or a list of values", what)
		}
		out = append(out, v.Value)
	}
	return out, nil
}

// rules reads a list of rules; named says that they may say what the processes are called.
func rules(n *yaml.Node, what string, named bool) ([]choose.Rule, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, at(n, "%s: want a list", what)
	}
	if len(n.Content) > maxRules {
		return nil, at(n, "%s: %d rules, want %d at most", what, len(n.Content), maxRules)
	}
	var out []choose.Rule
	for _, item := range n.Content {
		r, err := rule(item, what, named)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// relabels reads the rules of relabel.
func relabels(n *yaml.Node) (out []Relabel, err error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxRules {
		return nil, at(n, "relabel: want a list of %d rules at most", maxRules)
	}
	for _, item := range n.Content {
		r := Relabel{Line: item.Line}
		err := each(item, "relabel", func(key, value *yaml.Node) error {
			into := map[string]*string{"from": &r.From, "match": &r.Match, "to": &r.To, "value": &r.Value}[key.Value]
			if into == nil || value.Kind != yaml.ScalarNode {
				return at(key, "relabel: want from, match, to and value with a word each, not %q", key.Value)
			}
			*into = value.Value
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func rule(n *yaml.Node, what string, named bool) (r choose.Rule, err error) {
	err = each(n, what, func(key, value *yaml.Node) error {
		if key.Value == "labels" {
			if !named {
				return at(key, "labels: only in a rule of processes")
			}
			return each(value, "labels", func(name, v *yaml.Node) error {
				if v.Kind != yaml.ScalarNode {
					return at(v, "label %q: want a value", name.Value)
				}
				r.Labels = append(r.Labels, name.Value+"="+v.Value)
				return nil
			})
		}
		values, err := scalars(value, key.Value)
		if err != nil {
			return err
		}
		if len(values) == 0 {
			return at(value, "%s: no value", key.Value)
		}
		switch key.Value {
		case "name":
			r.Names = values
		case "cgroup":
			r.Cgroups = values
		case "container":
			r.Containers = values
		case "pod-uid":
			r.Pods = values
		case "unit":
			r.Units = values
		case "pid":
			r.PIDs, err = numbers(values)
		case "user":
			for _, name := range values {
				var id int
				if id, err = choose.UserID(name); err != nil {
					break
				}
				r.Users = append(r.Users, id)
			}
		case "service":
			if r.Service = values[0]; !named || len(values) > 1 {
				err = errors.New("service: want one name, in a rule of processes")
			}
		default:
			err = fmt.Errorf("unknown key %q of a rule", key.Value)
		}
		if err != nil {
			return at(key, "%w", err)
		}
		return nil
	})
	switch {
	case err != nil:
		return r, err
	case r.Empty():
		return r, at(n, "a rule of %s that chooses nothing: give it name, pid, cgroup, container, pod-uid, unit or "+
			"user", what)
	}
	if err := r.Check(); err != nil {
		return r, at(n, "%w", err)
	}
	return r, nil
}

func numbers(values []string) (ids []int, err error) {
	for _, v := range values {
		id, err := strconv.Atoi(v)
		if err != nil || id <= 0 {
			return nil, fmt.Errorf("pid: %q is no id", v)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
