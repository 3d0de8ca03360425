package hotspot

import (
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/vm/hotspot/metadata"
)

// frameOf is the frame of m at bci, -1 for its entry.
func frameOf(m *metadata.Method, bci int, tier string) profile.Frame {
	class := className(m.Class)
	name := demangled(class, m.Name, m.File)
	f := profile.Frame{Func: name, Kind: profile.Java, Tier: tier, Stub: plumbing(m.Class)}
	f.Linkage = m.Class + "." + m.Name + m.Signature
	if !m.Native() {
		f.File, f.Line = m.File, m.Line(bci)
	}
	return f
}

// className is the name of a class without the address that the JVM adds to those of hidden ones: it is another in each
// process. "Dead$$Lambda+0x00007f2c8c000a00" up to JDK 16 with a slash, and a number.
func className(class string) string {
	for _, mark := range []string{"+0x", "/0x"} {
		if i := strings.LastIndex(class, mark); i > 0 {
			return class[:i]
		}
	}
	return class
}

// plumbing reports whether methods of a class stand between those that a person wrote: reflection, method handles and
// the foreign function interface.
func plumbing(class string) bool {
	for _, p := range []string{"java.lang.invoke.LambdaForm$", "java.lang.invoke.Invokers$Holder",
		"java.lang.invoke.DirectMethodHandle$Holder", "java.lang.invoke.DelegatingMethodHandle$Holder",
		"jdk.internal.reflect.", "sun.reflect.", "jdk.internal.foreign.abi.DowncallStub",
		"jdk.internal.foreign.abi.UpcallStub"} {
		if strings.HasPrefix(class, p) {
			return true
		}
	}
	return false
}

// dotted is the name of a class as Java writes it.
func dotted(name string) string { return strings.ReplaceAll(name, "/", ".") }
