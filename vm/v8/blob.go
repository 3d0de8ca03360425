package v8

import (
	"bytes"

	"github.com/fpstack/fpstack/maps/module"
)

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
	const endbr64, ret = "\xf3\x0f\x1e\xfa", 0xc3
	at, ok := t.at(function)
	if !ok {
		return 0, false
	}
	code, _ := t.m.Text(at)
	if rest, ok := bytes.CutPrefix(code, []byte(endbr64)); ok {
		code, at = rest, at+module.Vaddr(len(endbr64))
	}
	for _, form := range []string{"\xb8", "\x8b\x05", "\x48\x8d\x05"} {
		length := len(form) + 4
		if len(code) <= length || string(code[:len(form)]) != form || code[length] != ret {
			continue
		}
		n := order.Uint32(code[len(form):])
		there := at + module.Vaddr(length) + module.Vaddr(int64(int32(n)))
		switch form {
		case "\xb8": // mov eax, n
			return module.Vaddr(n), true
		case "\x8b\x05": // mov eax, [rip+n]
			b, ok := t.m.Loaded(there)
			if !ok || len(b) < 4 {
				return 0, false
			}
			return module.Vaddr(order.Uint32(b)), true
		}
		return there, true // lea rax, [rip+n]
	}
	return 0, false
}
