// Frames prints what the Go runtime says about addresses of this program itself:
//
//	base ADDR                         runtime.main in this process
//	at PC FUNC FILE LINE              innermost logical frame at PC
//	stack FUNC FILE LINE ENTRY        a frame of a real stack, innermost first
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
)

func leaf() []uintptr {
	pcs := make([]uintptr, 64)
	return pcs[:runtime.Callers(1, pcs)]
}

func middle(n int) []uintptr {
	if n > 1000 {
		panic(n)
	}
	return leaf()
}

type walker[T any] struct{ v T }

func (w walker[T]) walk(n int) []uintptr { return middle(n) }

//go:noinline
func outer[T any](v T, n int) []uintptr { return walker[T]{v}.walk(n) }

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	pc := reflect.ValueOf(main).Pointer()
	fmt.Fprintf(out, "base %#x\n", runtime.FuncForPC(pc).Entry())
	var pcs []uintptr
	slices.SortFunc([]int{2, 1}, func(a, b int) int {
		pcs = outer("x", a)
		return a - b
	})
	frames := runtime.CallersFrames(pcs)
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Fprintf(out, "stack %q %q %d %#x %#x\n", f.Function, f.File, f.Line, f.PC, f.Entry)
	}
	sample(out, pc)
}

// sample asks about addresses across the text, by steps that hit all kinds of instructions.
func sample(out *bufio.Writer, around uintptr) {
	lo, hi := around, around
	for runtime.FuncForPC(lo-4096) != nil {
		lo -= 4096
	}
	for runtime.FuncForPC(hi+4096) != nil {
		hi += 4096
	}
	for pc := lo; pc < hi; pc += 61 {
		if runtime.FuncForPC(pc+1).Entry() == pc+1 {
			continue // CallersFrames takes a first instruction for itself, not for a return address
		}
		f, _ := runtime.CallersFrames([]uintptr{pc + 1}).Next()
		fmt.Fprintf(out, "at %#x %q %q %d\n", pc, f.Function, f.File, f.Line)
	}
}
