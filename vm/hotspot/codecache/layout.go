// Package codecache reads where a HotSpot JVM has its code, and which piece of it an address is in: a compiled method,
// a native wrapper, a stub, the interpreter.
//
// The caller provides the JVM's own tables and the memory. All offsets come from these tables; where versions differ
// what is chosen is decided by which fields there are, never by a version number. What a blob holds is what a View
// shows: that it is the blob of the moment of a stop is the caller's matter, which [ID] is for.
//
// Source: src/hotspot/share/code, src/hotspot/share/memory/heap.hpp, JDK 8 to 28.
package codecache

import (
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/hotspot/vmstructs"
)

// Layout is where fields of the code cache's structures are.
type Layout struct {
	heaps, heap mem.Addr // CodeCache::_heaps, or _heap of JDK 8
	listLength  vmstructs.Place
	listData    vmstructs.Place

	memory, segmap         int64 // of a CodeHeap: VirtualSpaces
	low, spread            vmstructs.Place
	segmentShift           vmstructs.Place
	header                 int64 // of a HeapBlock, bytes
	blockLength, blockUsed vmstructs.Place

	name, size, frameComplete, frameSize vmstructs.Place
	codeBegin, codeEnd                   vmstructs.Place // addresses
	codeOffset, dataOffset               vmstructs.Place // from the blob

	method, compileID, level, entryBCI vmstructs.Place
	deopt, deoptMH                     vmstructs.Place // addresses
	deoptOffset, deoptMHOffset         vmstructs.Place // from the blob
	origPC                             vmstructs.Place
	verified, osrEntry                 vmstructs.Place // addresses
	verifiedOffset                     vmstructs.Place // from the begin of the code

	metadataOffset          vmstructs.Place
	mutable, relocationSize vmstructs.Place
	immutable, immutableEnd vmstructs.Place
	pcs, pcsEnd             vmstructs.Place
	scopesBegin             vmstructs.Place // an address
	scopesOffset            vmstructs.Place
	pcOffset, pcScope       vmstructs.Place
	pcSize                  int64

	interpreter                    mem.Addr
	stubBuffer, bufferLimit        vmstructs.Place
	codeletSize, codeletText, code vmstructs.Place

	// Returns is where the JVM has the address at which calls from C++ return to it.
	Returns mem.Addr
	// HeadSize is how much of a blob [Layout.Parse] reads, bytes.
	HeadSize int
}

// ReadLayout takes the layout from the JVM's tables. It fails if something is missing without which no frame is known.
func ReadLayout(t *vmstructs.Table) (*Layout, error) {
	p := t.Pick()
	l := &Layout{heaps: p.Static("_heaps", "CodeCache"), heap: p.Static("_heap", "CodeCache"),
		listLength: p.Maybe("_len", "GrowableArrayBase", "GenericGrowableArray"),
		listData:   p.Maybe("_data", "GrowableArray<int>"),
		memory:     p.Need("_memory", "CodeHeap").Offset, segmap: p.Need("_segmap", "CodeHeap").Offset,
		low: p.Need("_low_boundary", "VirtualSpace"), spread: p.Need("_high_boundary", "VirtualSpace"),
		segmentShift: p.Need("_log2_segment_size", "CodeHeap"),
		header:       p.NeedSize("HeapBlock", "HeapBlock::Header"),
		blockLength:  p.Maybe("_length", "HeapBlock::Header"), blockUsed: p.Maybe("_used", "HeapBlock::Header"),
		name: p.Need("_name", "CodeBlob"), size: p.Need("_size", "CodeBlob"),
		frameComplete: p.Need("_frame_complete_offset", "CodeBlob"), frameSize: p.Need("_frame_size", "CodeBlob"),
		codeBegin: p.Maybe("_code_begin", "CodeBlob"), codeEnd: p.Maybe("_code_end", "CodeBlob"),
		codeOffset: p.Maybe("_code_offset", "CodeBlob"), dataOffset: p.Maybe("_data_offset", "CodeBlob"),
		interpreter: p.NeedStatic("_code", "AbstractInterpreter"), stubBuffer: p.Need("_stub_buffer", "StubQueue"),
		bufferLimit: p.Need("_buffer_limit", "StubQueue"), codeletSize: p.Need("_size", "InterpreterCodelet"),
		codeletText: p.Need("_description", "InterpreterCodelet"), code: p.Need("_bytecode", "InterpreterCodelet"),
		Returns: p.NeedStatic("_call_stub_return_address", "StubRoutines"),
	}
	if l.heaps == 0 && l.heap == 0 {
		p.NeedStatic("_heaps", "CodeCache")
	}
	if l.heaps != 0 {
		p.Need("_len", "GrowableArrayBase", "GenericGrowableArray")
		p.Need("_data", "GrowableArray<int>")
	}
	if !l.codeBegin.OK() || !l.codeEnd.OK() {
		p.Need("_code_offset", "CodeBlob")
		p.Need("_data_offset", "CodeBlob")
	}
	l.readCompiled(p)
	l.HeadSize = l.headSize()
	return l, p.Err()
}

// readCompiled takes what is known of compiled methods. CompiledMethod was a class of its own from JDK 9 to 22.
func (l *Layout) readCompiled(p *vmstructs.Picker) {
	n, c := "nmethod", "CompiledMethod"
	l.method, l.compileID = p.Need("_method", n, c), p.Need("_compile_id", n)
	l.level, l.entryBCI = p.Maybe("_comp_level", n), p.Need("_entry_bci", n)
	l.deopt, l.deoptMH = p.Maybe("_deopt_handler_begin", c), p.Maybe("_deopt_mh_handler_begin", c)
	for _, field := range []string{"_deoptimize_offset", "_deopt_handler_offset", "_deopt_handler_entry_offset"} {
		if at := p.Maybe(field, n); at.OK() {
			l.deoptOffset = at
		}
	}
	for _, field := range []string{"_deoptimize_mh_offset", "_deopt_mh_handler_offset"} {
		if at := p.Maybe(field, n); at.OK() {
			l.deoptMHOffset = at
		}
	}
	if !l.deopt.OK() && !l.deoptOffset.OK() {
		p.Need("_deopt_handler_begin", c)
	}
	l.origPC = p.Need("_orig_pc_offset", n)
	l.verified, l.verifiedOffset = p.Maybe("_verified_entry_point", n), p.Maybe("_verified_entry_offset", n)
	l.osrEntry = p.Maybe("_osr_entry_point", n)
	if !l.verified.OK() {
		p.Need("_verified_entry_offset", n)
	}
	l.immutable, l.immutableEnd = p.Maybe("_immutable_data", n), p.Maybe("_immutable_data_size", n)
	l.mutable, l.relocationSize = p.Maybe("_mutable_data", "CodeBlob"), p.Maybe("_relocation_size", "CodeBlob")
	l.metadataOffset = p.Maybe("_metadata_offset", n)
	l.pcs, l.pcsEnd = p.Need("_scopes_pcs_offset", n), p.Maybe("_dependencies_offset", n)
	l.scopesBegin, l.scopesOffset = p.Maybe("_scopes_data_begin", c), p.Maybe("_scopes_data_offset", n)
	l.pcOffset, l.pcScope = p.Need("_pc_offset", "PcDesc"), p.Need("_scope_decode_offset", "PcDesc")
	l.pcSize = p.NeedSize("PcDesc")
	switch {
	case l.immutable.OK():
		p.Need("_scopes_data_offset", n)
		p.Need("_immutable_data_size", n)
	case !l.scopesBegin.OK():
		p.Need("_scopes_data_offset", n)
	}
	if !l.mutable.OK() {
		p.Need("_metadata_offset", n)
	}
}

// headSize is up to the last field that is read of a blob.
func (l *Layout) headSize() int {
	most := int64(0)
	for _, p := range []vmstructs.Place{l.name, l.size, l.frameComplete, l.frameSize, l.codeBegin, l.codeEnd,
		l.codeOffset, l.dataOffset, l.method, l.compileID, l.level, l.entryBCI, l.deopt, l.deoptMH, l.deoptOffset,
		l.deoptMHOffset, l.origPC, l.verified, l.osrEntry, l.verifiedOffset, l.metadataOffset, l.mutable,
		l.relocationSize, l.immutable, l.immutableEnd, l.pcs, l.pcsEnd, l.scopesBegin, l.scopesOffset} {
		most = max(most, p.End())
	}
	return int(most+wordSize-1) &^ (wordSize - 1)
}

const wordSize = 8
