package hotspot

import "github.com/fpstack/fpstack/maps/module"

// NativeImage reports whether m is of Java and was compiled ahead of time as a whole, by GraalVM's native-image: it has
// no JVM to read, and its methods are native functions, with symbols where they were not stripped. The section that
// tells it stays in stripped files too.
//
// Source: SVM_HEAP in com.oracle.objectfile.SectionName of GraalVM's substratevm.
func NativeImage(m *module.Module) bool {
	if m.Err != nil {
		return false
	}
	_, heap := m.Section(".svm_heap")
	return heap
}
