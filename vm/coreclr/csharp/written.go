package csharp

import "strings"

// keywords are the types of System that are written by one word. __Canon is what the runtime calls any reference type
// in code that several instances share.
var keywords = map[string]string{
	"Boolean": "bool", "Byte": "byte", "SByte": "sbyte", "Char": "char", "Decimal": "decimal", "Double": "double",
	"Single": "float", "Int32": "int", "UInt32": "uint", "IntPtr": "nint", "UIntPtr": "nuint", "Int64": "long",
	"UInt64": "ulong", "Int16": "short", "UInt16": "ushort", "Object": "object", "String": "string", "Void": "void",
	"__Canon": "__Canon",
}

// operators are the names of operators (ECMA-335 I.10.3, and those of C# 11).
var operators = map[string]string{
	"Addition": "+", "Subtraction": "-", "Multiply": "*", "Division": "/", "Modulus": "%", "ExclusiveOr": "^",
	"BitwiseAnd": "&", "BitwiseOr": "|", "LeftShift": "<<", "RightShift": ">>", "UnsignedRightShift": ">>>",
	"Equality": "==", "Inequality": "!=", "GreaterThan": ">", "LessThan": "<", "GreaterThanOrEqual": ">=",
	"LessThanOrEqual": "<=", "Decrement": "--", "Increment": "++", "UnaryNegation": "-", "UnaryPlus": "+",
	"OnesComplement": "~", "LogicalNot": "!", "True": "true", "False": "false",
}

// written is a name of a method as its source has it: "Name.get" for the accessor get_Name, "operator +()" for
// op_Addition. Of an explicit implementation the interface stays in front. Names that are not special stay.
func written(name string, special bool) string {
	front, last := "", name
	if i := lastDot(name); i > 0 {
		front, last = name[:i+1], name[i+1:]
	} else if !special {
		return name
	}
	for _, kind := range []string{"get", "set", "add", "remove"} {
		if of, ok := strings.CutPrefix(last, kind+"_"); ok && of != "" {
			return front + of + "." + kind
		}
	}
	if op, ok := strings.CutPrefix(last, "op_"); ok {
		op, checked := strings.CutPrefix(op, "Checked")
		word := "operator "
		if checked {
			word = "operator checked "
		}
		switch sign := operators[op]; {
		case sign != "":
			return front + word + sign + "()" // an offset may follow
		case op == "Implicit" || op == "Explicit":
			return front + strings.ToLower(op) + " " + strings.TrimSpace(word) + "()"
		}
	}
	return name
}

// lastDot is where the last dot of a name is that does not stand between < and >; -1 for none. Those of ".ctor" and
// "..ctor" count as none.
func lastDot(name string) int {
	depth := 0
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case '>':
			depth++
		case '<':
			depth--
		case '.':
			if depth == 0 && i > 0 && name[i-1] != '.' {
				return i
			}
		}
	}
	return -1
}

// Text is the name of a type: "Shop.Cart<int>.Item", "Shop.Cart`1+Item[System.Int32]".
func (p *Path) Text() Text {
	var shown, raw strings.Builder
	if p.Namespace != "" {
		shown.WriteString(p.Namespace + ".")
		raw.WriteString(p.Namespace + ".")
	}
	var args []Text
	for i := range p.Types {
		t := &p.Types[i]
		if i > 0 {
			shown.WriteByte('.')
			raw.WriteByte('+')
		}
		shown.WriteString(bare(t.Name) + angled(t.Args))
		raw.WriteString(t.Name)
		args = append(args, t.Args...)
	}
	return Text{shown.String(), raw.String() + bracketed(args)}
}

// Argument is the name of a type as it is written in the arguments of another one: "int" for System.Int32, "int?" and
// "(int, string)" for Nullable and ValueTuple, and for a state machine the method that it was made of.
func (p *Path) Argument() Text {
	out := p.Text()
	if n := len(p.Types); n > 0 {
		if _, ok := IsMachine(p.Types[n-1].Name); ok {
			m := Method{Path: *p, Name: "MoveNext", Machine: Async}
			if method, _, ok := m.written(); ok {
				out.Shown = method
			}
			return out
		}
	}
	if p.Namespace != "System" || len(p.Types) != 1 {
		return out
	}
	args := p.Types[0].Args
	switch name := p.Types[0].Name; {
	case len(args) == 0:
		if word, ok := keywords[name]; ok {
			out.Shown = word
		}
	case name == "Nullable`1" && len(args) == 1:
		out.Shown = args[0].Shown + "?"
	case strings.HasPrefix(name, "ValueTuple`") && len(args) > 1 && len(args) < 8:
		out.Shown = "(" + list(args, ", ", func(t Text) string { return t.Shown }) + ")"
	}
	return out
}

// bare is the name of a type without the number of its generic parameters, and without what Roslyn puts in front of a
// type that is known in one file alone: "<File>F", the 64 digits of a sum, "__".
func bare(name string) string {
	if i := strings.LastIndexByte(name, '`'); i > 0 && isNumber(name[i+1:]) {
		name = name[:i]
	}
	if _, suffix, ok := cutOrigin(name); ok && len(suffix) > 67 && suffix[0] == 'F' && suffix[65:67] == "__" &&
		strings.Trim(suffix[1:65], "0123456789ABCDEF") == "" {
		return suffix[67:]
	}
	return name
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// angled is a list of arguments as a person writes it, "<int, string>"; "" for none.
func angled(args []Text) string {
	if len(args) == 0 {
		return ""
	}
	return "<" + list(args, ", ", func(t Text) string { return t.Shown }) + ">"
}

// bracketed is a list of arguments as the runtime writes it, "[System.Int32,System.String]"; "" for none.
func bracketed(args []Text) string {
	if len(args) == 0 {
		return ""
	}
	return "[" + list(args, ",", func(t Text) string { return t.Raw }) + "]"
}

func list(args []Text, between string, text func(Text) string) string {
	words := make([]string, len(args))
	for i := range args {
		words[i] = text(args[i])
	}
	return strings.Join(words, between)
}
