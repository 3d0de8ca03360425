// Package symbol names code: an address of a [module.Module] becomes a function, with the
// functions inlined there, files and lines where the object holds them.
//
// The caller provides the module and looks up interrupted PCs as they are and return
// addresses minus one ([Query]). Many addresses asked at once cost little more than one: the symbol
// table is read once for all of them, without sorting it.
//
// It guarantees bounded work on any bytes, and that a name is never stretched: a symbol with a
// size names no address outside of it. What could be read is returned together with
// the error that cut it short. Names are those of the file and may hold any bytes.
//
// It is not for live memory, and code that no ELF object holds is not its matter.
//
// It follows the System V gABI (symbol table, relocation), the GNU symbol versioning of the
// Linux Standard Base, and for Go [github.com/fpstack/fpstack/code/pclntab]. DWARF lines and
// separate debug files come in as further [DebugInfo] values.
package symbol

import "github.com/fpstack/fpstack/maps/module"

// Symbol is one function of a symbol table.
type Symbol struct {
	// Name is as in the table, without version: "_ZN3fooEv", "clock_nanosleep".
	Name string
	// Start is its first address, End the first behind it. Where the table gives no size,
	// End is the next symbol or the end of the section.
	Start, End module.Vaddr
	// Sized says that the table gives the size.
	Sized bool
	// Typed says that the table calls it a function; else it is a label that may be anywhere.
	Typed bool
}

// Types and bindings, the halves of st_info, gABI chapter 4, "Symbol Table".
const (
	sttNotype = 0
	sttObject = 1
	sttFunc   = 2
	sttIFunc  = 10 // STT_GNU_IFUNC

	stbGlobal = 1
	stbWeak   = 2
	stbUnique = 10 // STB_GNU_UNIQUE

	shnUndef     = 0
	shnLoReserve = 0xff00
	shnXIndex    = 0xffff

	em386     = 3
	emARM     = 40
	emX8664   = 62
	emAArch64 = 183
)
