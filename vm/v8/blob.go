package v8

import "github.com/fpstack/fpstack/maps/module"

// blob is where the builtins are as symbols say, 0, 0 if they do not.
// Source: src/snapshot/embedded/embedded-file-writer.cc.
func (t *tables) blob() (start, end module.Vaddr) {
	size, ok := t.constant(blobPrefix + "size_")
	if !ok || size <= 0 {
		return 0, 0
	}
	for _, name := range []string{"data_", ""} { // up to V8 10 the latter is a pointer to the former
		if v, ok := t.at(blobPrefix + name); ok {
			return v, v + module.Vaddr(size)
		}
	}
	return 0, 0
}

// returned is where the builtins are as two functions of V8 say that return it: those are exported, while symbols of
// the blob itself seldom are. It is 0, 0 if their instructions are others.
// Source: DefaultEmbeddedBlobCode and DefaultEmbeddedBlobCodeSize in src/execution/isolate.cc.
func (t *tables) returned() (start, end module.Vaddr) {
	start, ok := t.returns("_ZN2v88internal23DefaultEmbeddedBlobCodeEv")
	size, ok2 := t.returns("_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv")
	code, ok3 := t.m.Text(start)
	if !ok || !ok2 || !ok3 || size == 0 || uint64(size) > uint64(len(code)) {
		return 0, 0
	}
	return start, start + size
}

// returns is what a function without arguments returns, if that is all that it does.
func (t *tables) returns(function string) (module.Vaddr, bool) {
	at, ok := t.at(function)
	if !ok {
		return 0, false
	}
	code, _ := t.m.Text(at)
	return t.port.returned(t.m, code, at)
}
