// Package csharp turns the names that compilers of C# give to types and methods into those that people wrote: of state
// machines of async methods and iterators, lambdas, local functions, accessors and operators.
//
// It knows names alone, and nothing of metadata. Where the form of a name is not known it stays as it is. Names may
// hold any bytes and may be forged; they lead to nothing but what is shown.
//
// Sources: GeneratedNames.cs and GeneratedNameKind.cs of dotnet/roslyn; anonymous.cs, async.cs and iterators.cs of
// mono's mcs; ECMA-335 II.9.2 (generic names) and I.10.3 (operators).
package csharp

import "strings"

// Text is a name as a person writes it, and as the runtime does.
type Text struct {
	Shown string // Outer.Inner<int>
	Raw   string // Outer+Inner`1[System.Int32]
}

// Machine is what the compiler makes of a method whose body it cuts into pieces.
type Machine string

// The kinds of state machines. The zero value is for types that are none.
const (
	Async         Machine = "async"
	Iterator      Machine = "iterator"
	AsyncIterator Machine = "async iterator"
)

// Type is one type of a path.
type Type struct {
	Name string // as in metadata: List`1
	Args []Text // what its own generic parameters stand for, or their names
}

// Path is a type and the ones that it lies in, the outermost first.
type Path struct {
	Namespace string
	Types     []Type
}

// Method is a method and where it is declared.
type Method struct {
	Path    Path
	Name    string
	Args    []Text
	Special bool    // an accessor, an operator or a constructor
	Machine Machine // what the type that declares it is
}

// IsMachine reports whether a type is a state machine by its name, and of which kind if that says so too. mcs's do; of
// which kind those of Roslyn are their interfaces say.
func IsMachine(name string) (m Machine, ok bool) {
	_, suffix, ok := cutOrigin(name)
	switch {
	case !ok:
		return "", false
	case strings.HasPrefix(suffix, "c__async"):
		return Async, true
	case strings.HasPrefix(suffix, "c__Iterator"):
		return Iterator, true
	}
	return "", suffix == "d" || strings.HasPrefix(suffix, "d__") || strings.HasPrefix(suffix, "d`")
}

// Text is the name of m, as "Shop.Cart<int>.AddAsync<string> (async)" for the method
// "Shop.Cart`1+<AddAsync>d__3`1[System.Int32,System.String]::MoveNext".
func (m *Method) Text() Text {
	raw := m.Path.Text().Raw + "::" + m.Name + bracketed(m.Args)
	if shown, note, ok := m.written(); ok {
		return Text{shown + note, raw}
	}
	return Text{m.Path.Text().Shown + "." + written(m.Name, m.Special) + angled(m.Args), raw}
}

// written is the name of the method of which a compiler made m, and what is added to it; false if m is as it was
// written, or plumbing.
func (m *Method) written() (name, note string, ok bool) {
	types := m.Path.Types
	own := types
	for i := range types {
		if isMade(types[i].Name) {
			own = types[:i]
			break
		}
	}
	made := types[len(own):]
	o, ok := m.origin(made)
	if !ok {
		return "", "", false
	}
	args := m.Args
	if len(made) > 0 {
		args = nil
		for i := range made {
			args = append(args, made[i].Args...)
		}
		args = append(args, m.Args...)
	}
	at := Path{m.Path.Namespace, own}
	name = strings.TrimPrefix(at.Text().Shown+"."+o.name, ".")
	return name + angled(args), o.note(), true
}

// source is the method, lambda or local function that something was made of.
type source struct {
	name    string // of the method, and behind a dot that of its local function
	kind    string // "lambda" or "local function"; "" for the method itself
	machine Machine
}

// note is what is added to the name.
func (s *source) note() string {
	switch {
	case s.machine == "" && s.kind == "":
		return ""
	case s.machine == "":
		return " (" + s.kind + ")"
	case s.kind == "":
		return " (" + string(s.machine) + ")"
	}
	return " (" + string(s.machine) + " " + s.kind + ")"
}

// origin says what m was made of. made are the types that the compiler made, from the outermost.
func (m *Method) origin(made []Type) (source, bool) {
	if len(made) == 0 {
		return sourceOf(m.Name)
	}
	name, suffix, _ := cutOrigin(made[len(made)-1].Name)
	_, machine := IsMachine(made[len(made)-1].Name)
	switch {
	case machine && resumes(m.Name):
		s, ok := sourceOf(name)
		if !ok {
			s = source{name: written(name, true)}
			if len(made) > 1 && strings.HasPrefix(suffix, "c__") { // mcs calls them by the method around
				s.kind = lambda
			}
		}
		s.machine = m.Machine
		return s, name != "" && s.machine != ""
	case strings.HasPrefix(m.Name, "<>m__") && !strings.HasPrefix(m.Name, "<>m__Finally"): // a lambda of mcs
		return source{name: written(name, true), kind: lambda}, name != ""
	}
	return sourceOf(m.Name)
}

// resumes reports whether a method of a state machine runs the code of the method that it was made of.
func resumes(name string) bool {
	return name == "MoveNext" || strings.HasPrefix(name, "<>m__Finally") || strings.HasSuffix(name, ".MoveNext")
}

const (
	lambda        = "lambda"
	localFunction = "local function"
)

// sourceOf reads the name of a lambda, <Run>b__0_1, or of a local function, <Run>g__Inner|0_1.
func sourceOf(name string) (source, bool) {
	method, suffix, ok := cutOrigin(name)
	if !ok || method == "" {
		return source{}, false
	}
	outer := written(method, true)
	if s, ok := sourceOf(method); ok {
		outer = s.name
	}
	if local, ok := strings.CutPrefix(suffix, "g__"); ok {
		if local, _, ok = strings.Cut(local, "|"); ok && local != "" {
			return source{name: outer + "." + local, kind: localFunction}, true
		}
	}
	if strings.HasPrefix(suffix, "b__") || strings.HasPrefix(suffix, "m__") {
		return source{name: outer, kind: lambda}, true
	}
	return source{}, false
}

// isMade reports whether a compiler made the type of that name for the body of a method.
func isMade(name string) bool {
	if _, ok := IsMachine(name); ok {
		return true
	}
	method, suffix, ok := cutOrigin(name)
	return ok && (method == "" && (suffix == "c" || strings.HasPrefix(suffix, "c__")) ||
		strings.HasPrefix(suffix, "c__AnonStorey"))
}

// cutOrigin cuts "<Run>d__0" into "Run" and "d__0". Dots of the method are written as - in names of types, because
// those are no part of an identifier either.
func cutOrigin(name string) (method, suffix string, ok bool) {
	if name == "" || name[0] != '<' {
		return "", "", false
	}
	depth := 0
	for i := range len(name) {
		switch name[i] {
		case '<':
			depth++
		case '>':
			depth--
		}
		if depth == 0 {
			return strings.ReplaceAll(name[1:i], "-", "."), name[i+1:], i+1 < len(name)
		}
	}
	return "", "", false
}
