package csharp

import (
	"strings"
	"testing"
)

// path reads "Ns.Outer`1[A]+Inner".
func path(s string) Path {
	var p Path
	for i, name := range strings.Split(s, "+") {
		name, args, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
		if i == 0 && !strings.HasPrefix(name, "<") {
			if at := strings.LastIndexByte(name, '.'); at >= 0 {
				p.Namespace, name = name[:at], name[at+1:]
			}
		}
		p.Types = append(p.Types, Type{Name: name, Args: texts(args)})
	}
	return p
}

func texts(s string) []Text {
	if s == "" {
		return nil
	}
	var out []Text
	for _, a := range strings.Split(s, ",") {
		p := path(a)
		out = append(out, p.Argument())
	}
	return out
}

// TestMethods: names as Roslyn gave them in the assemblies of .NET 9.0.5 and ASP.NET, and as mcs gives them (both
// seen), and those of C# 9 to 11 as their compiler's sources say.
func TestMethods(t *testing.T) {
	for _, test := range []struct {
		typ, method, args string
		machine           Machine
		special           bool
		shown             string
	}{
		{typ: "Shop.Cart", method: "Add", shown: "Shop.Cart.Add"},
		{typ: "Cart", method: ".ctor", special: true, shown: "Cart..ctor"},
		{typ: "Shop.Cart`1[System.Int32]+Item`1[System.String]", method: "Move", args: "System.Uri",
			shown: "Shop.Cart<int>.Item<string>.Move<System.Uri>"},
		{typ: "System.String", method: "Concat", shown: "System.String.Concat"},
		{typ: "Cart", method: "get_Total", special: true, shown: "Cart.Total.get"},
		{typ: "Cart", method: "get_Total", shown: "Cart.get_Total"},
		{typ: "Cart", method: "op_Addition", special: true, shown: "Cart.operator +()"},
		{typ: "Cart", method: "op_CheckedAddition", special: true, shown: "Cart.operator checked +()"},
		{typ: "Cart", method: "op_Implicit", special: true, shown: "Cart.implicit operator()"},
		{typ: "Cart", method: "op_Unheard", special: true, shown: "Cart.op_Unheard"},
		{typ: "Cart", method: "System.IDisposable.Dispose", shown: "Cart.System.IDisposable.Dispose"},
		{typ: "Cart", method: "Ns.IRead<Azure.Page<T>>.get_Current", special: true,
			shown: "Cart.Ns.IRead<Azure.Page<T>>.Current.get"},
		{typ: "Cart", method: "<Clone>$", shown: "Cart.<Clone>$"},
		{typ: "Program", method: "<Main>$", shown: "Program.<Main>$"},

		{typ: "Worker+<RunAsync>d__7", method: "MoveNext", machine: Async, shown: "Worker.RunAsync (async)"},
		{typ: "Worker+<RunAsync>d__7", method: "SetStateMachine", machine: Async,
			shown: "Worker.<RunAsync>d__7.SetStateMachine"},
		{typ: "Worker+<RunAsync>d__7", method: "MoveNext", shown: "Worker.<RunAsync>d__7.MoveNext"},
		{typ: "Program+<<Main>$>d__0", method: "MoveNext", machine: Async, shown: "Program.<Main>$ (async)"},
		{typ: "W`1[System.Int32]+<Get>d__2`1[System.String]", method: "MoveNext", machine: AsyncIterator,
			shown: "W<int>.Get<string> (async iterator)"},
		{typ: "W+<get_All>d__5", method: "<>m__Finally1", machine: Iterator, shown: "W.All.get (iterator)"},
		{typ: "W+<Ns-IMany<T>-Get>d__5", method: "MoveNext", machine: Iterator, shown: "W.Ns.IMany<T>.Get (iterator)"},
		{typ: "W+<Get>d__2", method: "System.Collections.IEnumerator.get_Current", machine: Iterator, special: true,
			shown: "W.<Get>d__2.System.Collections.IEnumerator.Current.get"},

		{typ: "Worker+<>c", method: "<Run>b__3_0", shown: "Worker.Run (lambda)"},
		{typ: "Worker+<>c__DisplayClass3_0", method: "<Run>b__0", shown: "Worker.Run (lambda)"},
		{typ: "Worker", method: "<Run>b__3_0", shown: "Worker.Run (lambda)"},
		{typ: "Worker+<>c__21`1[System.Int32]", method: "<Run>b__21_0", shown: "Worker.Run<int> (lambda)"},
		{typ: "Worker+<>c", method: "<.cctor>b__8_1", shown: "Worker..cctor (lambda)"},
		{typ: "Worker+<>c", method: ".ctor", special: true, shown: "Worker.<>c..ctor"},
		{typ: "Worker+<>c+<<Run>b__3_0>d", method: "MoveNext", machine: Async, shown: "Worker.Run (async lambda)"},
		{typ: "Worker", method: "<Run>g__Inner|4_0", args: "System.Int32",
			shown: "Worker.Run.Inner<int> (local function)"},
		{typ: "Worker+<<Run>g__Inner|4_0>d`1[System.Int32]", method: "MoveNext", machine: Async,
			shown: "Worker.Run.Inner<int> (async local function)"},
		{typ: "Program", method: "<<Main>$>g__Twice|0_1", shown: "Program.<Main>$.Twice (local function)"},
		{typ: "Program+<>c", method: "<<Main>$>b__0_0", shown: "Program.<Main>$ (lambda)"},
		{typ: "Ns.<Regex_g>F" + strings.Repeat("0123456789ABCDEF", 4) + "__Mail_10+Runner", method: "Scan",
			shown: "Ns.Mail_10.Runner.Scan"},

		{typ: "C`1[System.Int32]+<AddAsync>c__async0`1[System.String]", method: "MoveNext", machine: Async,
			shown: "C<int>.AddAsync<string> (async)"},
		{typ: "C+<AddAsync>c__async0+<AddAsync>c__AnonStorey4+<AddAsync>c__async3", method: "MoveNext", machine: Async,
			shown: "C.AddAsync (async lambda)"},
		{typ: "C+<Items>c__Iterator1", method: "MoveNext", machine: Iterator, shown: "C.Items (iterator)"},
		{typ: "C+<>c__Iterator2", method: "MoveNext", machine: Iterator, shown: "C.<>c__Iterator2.MoveNext"},
		{typ: "C+<M>c__AnonStorey0`1[System.Int32]", method: "<>m__1", shown: "C.M<int> (lambda)"},
		{typ: "C", method: "<sf>m__0", shown: "C.sf (lambda)"},

		{typ: "<Module>", method: "<", shown: "<Module>.<"},
		{typ: "C", method: "<<<", shown: "C.<<<"},
		{typ: "C", method: "<>b__0", shown: "C.<>b__0"},
		{typ: "C", method: "<a>g__|0", shown: "C.<a>g__|0"},
		{typ: "", method: "", shown: "."},
	} {
		m := Method{Path: path(test.typ), Name: test.method, Args: texts(test.args), Machine: test.machine,
			Special: test.special}
		if got := m.Text().Shown; got != test.shown {
			t.Errorf("%s::%s: %q, want %q", test.typ, test.method, got, test.shown)
		}
	}
}

func TestRaw(t *testing.T) {
	m := Method{Path: path("Shop.Cart`1[System.Int32]+<Add>d__3`1[System.String]"), Name: "MoveNext", Machine: Async}
	if got, want := m.Text().Raw, "Shop.Cart`1+<Add>d__3`1[System.Int32,System.String]::MoveNext"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestArguments(t *testing.T) {
	for typ, want := range map[string]string{
		"System.Int32":                                    "int",
		"System.Nullable`1[System.Int32]":                 "int?",
		"System.ValueTuple`2[System.Int32,System.String]": "(int, string)",
		"System.__Canon":                                  "__Canon",
		"Shop.Int32":                                      "Shop.Int32",
		"System.Uri":                                      "System.Uri",
		"W`1[System.Int32]+<Run>d__2`1[System.String]":    "W<int>.Run<string>",
		"W+<>c+<<Run>b__0_0>d":                            "W.Run",
		"W+<>c":                                           "W.<>c",
	} {
		p := path(typ)
		if got := p.Argument().Shown; got != want {
			t.Errorf("%s: %q, want %q", typ, got, want)
		}
	}
}

func TestIsMachine(t *testing.T) {
	for name, want := range map[string]bool{"<M>d__0": true, "<M>d__0`1": true, "<<M>b__0>d": true,
		"<M>c__async0": true, "<>c": false, "<M>c__AnonStorey0": false, "M": false, "<M>d": true, "<M>dx": false,
		"<M>": false} {
		if _, ok := IsMachine(name); ok != want {
			t.Errorf("%s: %t, want %t", name, ok, want)
		}
	}
}

// FuzzMethod: any names give a name.
func FuzzMethod(f *testing.F) {
	f.Add("Worker+<RunAsync>d__7", "MoveNext", true)
	f.Add("C+<A>c__async0+<A>c__AnonStorey4", "<>m__0", false)
	f.Add("W", "<<R>b__0>g__I|4_0", false)
	f.Fuzz(func(t *testing.T, typ, method string, special bool) {
		m := Method{Path: path(typ), Name: method, Special: special, Machine: Async}
		if text := m.Text(); text.Shown == "" || text.Raw == "" {
			t.Errorf("%q::%q has no name: %q", typ, method, text)
		}
	})
}
