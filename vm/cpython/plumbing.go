package cpython

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/unwind"
)

// kind is what a function of the interpreter does.
type kind uint8

const (
	other    kind = iota // worth a frame: what a function of Python that is written in C does
	plumbing             // it leads from a call of Python to the next
	evalLoop
	jitEntry // it leads from the eval loop to code of the JIT compiler
	nameless // no symbol has it, or one that every program has
)

// functions are the functions of the interpreter, by address.
type functions struct {
	list     []function
	official bool // the file is an interpreter by its name, and holds nothing else
}

type function struct {
	start, end module.Vaddr
	kind       kind
}

// The eval loop, and what begins the names of its parts where each instruction is a function that calls the next.
const (
	evalName = "_PyEval_EvalFrameDefault"
	tailName = "_TAIL_CALL_"
)

// exact are names of plumbing, prefixes what such names begin with. Behind a dot compilers say how they made it.
// Sources: Python/ceval.c, pythonrun.c, Modules/main.c, Objects/call.c, descrobject.c, methodobject.c, typeobject.c,
// genobject.c and Python/thread_pthread.h of CPython 3.8 to 3.15.
var exact = map[string]bool{
	"PyVectorcall_Call": true, "_PyVectorcall_Call": true, "vectorcall_method": true, "vectorcall_unbound": true,
	"vectorcall_maybe": true, "method_vectorcall": true, "method_call": true, "type_call": true,
	"object_vacall": true, "cfunction_call": true, "call_function": true, "do_call_core": true,
	"function_code_fastcall": true, "wrapper_call": true, "wrapperdescr_call": true, "lookup_maybe_method": true,
	"call_attribute": true, "run_eval_code_obj": true, "run_mod": true, "gen_iternext": true, "gen_send": true,
	"_PyGen_Send": true, "PyGen_Send": true, "PyIter_Send": true, "thread_run": true, "pythread_wrapper": true,
	"t_bootstrap": true, "method_vectorcall_O": true, "context_run": true, "_PyFunction_Vectorcall": true,
	"classmethoddescr_call": true, "tp_new_wrapper": true, "partial_vectorcall": true, "partial_call": true,
	"builtin_exec": true, "builtin_eval": true,
}

var prefixes = []string{"_PyEval_", "PyEval_", "_PyObject_Call", "PyObject_Call", "_PyObject_FastCall",
	"_PyObject_Vectorcall", "PyObject_Vectorcall", "_PyObject_MakeTpCall", "_PyFunction_FastCall", "_PyRun_",
	"PyRun_", "py_trampoline_evaluator", "pyrun_", "pymain_", "Py_RunMain", "Py_BytesMain", "Py_Main", "gen_send_ex",
	"slot_tp_", "slot_mp_", "slot_nb_", "slot_sq_", "slot_am_", "cfunction_vectorcall_", "method_vectorcall_",
	"wrap_", "_PyCFunction_", "_PyStack_", "_PyMethodDef_RawFastCall", "_PyMethodDescr_"}

func kindOf(name string) kind {
	name, _, _ = strings.Cut(name, ".")
	switch {
	case name == evalName, strings.HasPrefix(name, tailName):
		return evalLoop
	case strings.HasPrefix(name, "_PyJIT_"):
		return jitEntry
	case name == "main", name == "_start":
		return nameless
	case exact[name], slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }):
		return plumbing
	}
	return other
}

// functions reads the symbols of the interpreter, once.
func (r *Runtime) functions() *functions {
	if r.code != nil {
		return r.code
	}
	base := strings.TrimPrefix(path.Base(r.m.Path), "lib")
	r.code = &functions{official: strings.HasPrefix(base, "python")}
	for _, table := range []string{".symtab", ".dynsym"} {
		_ = symbol.Each(r.m, table, func(name []byte, v module.Vaddr, size uint64) bool { // without: nameless
			if _, code := r.m.Code(v); code && size > 0 {
				r.code.list = append(r.code.list, function{v, v + module.Vaddr(size), kindOf(string(name))})
			}
			return true
		})
	}
	slices.SortStableFunc(r.code.list, func(a, b function) int { return cmp.Compare(a.start, b.start) })
	return r.code
}

// kindAt is what f does, other if that is no frame of the interpreter m.
func (c *functions) kindAt(m *module.Module, f *unwind.Frame) kind {
	if f.Module == nil || f.Module.Object() != m.Object() {
		return other
	}
	v := f.Module.Vaddr(f.LookupPC())
	i, found := slices.BinarySearchFunc(c.list, v, func(x function, v module.Vaddr) int {
		return cmp.Compare(x.start, v)
	})
	if !found {
		i--
	}
	if i < 0 || v >= c.list[i].end {
		return nameless
	}
	return c.list[i].kind
}

// hides reports whether a frame of that kind is the interpreter's own.
func (c *functions) hides(k kind) bool {
	return k == plumbing || k == evalLoop || k == jitEntry || k == nameless && c.official
}

// markPlumbing marks the frames of native that are the interpreter's own: calls of the eval loop that run what p has
// placed, what leads to them, and code without an object around them (trampolines for perf, code of the JIT compiler).
func (r *Runtime) markPlumbing(native []unwind.Frame, p *placing) {
	code := r.functions()
	last := 0
	for i := range p.inserts {
		if in := &p.inserts[i]; in.eval {
			last = max(last, in.at)
			r.markMade(native, in.at)
			native[in.at].Stub = true
		}
	}
	parents := false
	for i := range native {
		f := &native[i]
		k := code.kindAt(r.m, f)
		if parents = parents || i > last && k == evalLoop && !f.Stub; parents && k == evalLoop {
			note(f, noteParent)
			continue
		}
		f.Stub = f.Stub || code.hides(k)
	}
}

// markMade marks code without an object beside the call of the eval loop number at: the trampoline that called it, and
// what it called, which with the JIT compiler is several pieces.
func (r *Runtime) markMade(native []unwind.Frame, at int) {
	made := func(f *unwind.Frame) bool { return (f.Module == nil || f.Module.Made()) && !f.Signal }
	if at+1 < len(native) && made(&native[at+1]) {
		native[at+1].Stub = true
	}
	for i := at - 1; i >= 0; i-- {
		f := &native[i]
		if !made(f) && r.functions().kindAt(r.m, f) != jitEntry {
			return
		}
		f.Stub = true
	}
}
