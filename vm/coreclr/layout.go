package coreclr

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
)

// layout is where fields of the runtime's structures are, bytes from their beginnings.
type layout struct {
	constantMap  bool // nibble maps have constant time: see nibble.go
	packedBounds bool // of debug information
	noBounds     bool // their form is not known
	// patchpointSaved is debuginfo.Form.Saved.
	patchpointSaved int
	tokenIn16       bool // the row of a type is in 16 bits

	fragmentNext, fragmentSection int64

	sectionBegin, sectionEnd, sectionFlags, sectionHeap, sectionModule, sectionDeleted int64

	heapStart, heapEnd, heapBase, heapMap int64

	headerDebugInfo, headerMethod, headerInfos, headerInfo int64

	methodToken, methodIndex, methodFlags int64

	chunkSize, chunkTable, chunkToken int64

	dynamicName, instantiatedDictionary, instantiatedArgs int64

	tableFlags, tableFlags2, tableClass, tableModule, tableInstances int64

	paramArgument, arrayRank, variableToken int64

	moduleBase, modulePath, moduleName, moduleR2R int64 // or unknown

	r2rHeader, r2rComposite, r2rFunctions, r2rCount, r2rThunks, r2rEntries int64

	methodAlignment, tokenBits, stubLast, hashMask uint64

	threadStore, syncTable, domain, stringTable variable

	storeFirst, threadLink, threadOSID, threadID, threadObject int64

	objectName, objectThread, objectID int64 // of a managed Thread
}

// unknown is an offset that is not known.
const unknown = -1

// variable is where a variable of the runtime is: at, or where an entry of g_dacTable says; slot may be unknown.
type variable struct {
	slot int64
	at   mem.Addr
}

// base is what all versions from 8 on have in common.
// Source: src/coreclr/vm/codeman.h, method.hpp, methodtable.h, readytoruninfo.h.
func base() layout {
	return layout{
		patchpointSaved: 8, fragmentNext: 0, fragmentSection: 24,
		sectionBegin: 0, sectionEnd: 8, sectionFlags: 16, sectionModule: 32, sectionHeap: 40, sectionDeleted: 64,
		heapStart: 16, heapEnd: 24, heapBase: 32, heapMap: 40,
		headerDebugInfo: 0, headerMethod: 24, headerInfos: 32, headerInfo: 36,
		methodToken: 0, methodIndex: 2, methodFlags: 6, methodAlignment: 8, tokenBits: 12,
		chunkSize: 24, chunkTable: 0, chunkToken: 18,
		dynamicName: 32, instantiatedDictionary: 24, instantiatedArgs: 34,
		tableFlags: 0, tableFlags2: 8, tableClass: 40, tableModule: 24, tableInstances: 48,
		paramArgument: 16, arrayRank: 72, variableToken: 40,
		r2rHeader: 16, r2rComposite: 40, r2rFunctions: 80, r2rCount: 88, r2rThunks: 112,
		stubLast: 0xf, hashMask: 1<<63 - 1,
		threadLink: 112, threadOSID: 296, threadID: 16, threadObject: 304,
		objectName: 24, objectThread: 40, objectID: 52,
		threadStore: variable{slot: unknown}, syncTable: variable{slot: unknown}, domain: variable{slot: unknown},
		stringTable: variable{slot: unknown},
	}
}

var errVersion = errors.New("its structures are not known")

// layoutOf is the layout of the runtime in o, as far as tables know it, with what the runtime says of itself over it. c
// is nil if it says nothing. A version that is not in the tables has to say all that a name rests on.
func layoutOf(o *object, c *contract) (*layout, error) {
	l, v := base(), o.version
	known := true
	switch v.Major {
	case 8:
		l.dynamicName, l.instantiatedDictionary, l.instantiatedArgs, l.tokenIn16 = 24, 16, 26, true
		l.moduleBase, l.modulePath, l.moduleName, l.moduleR2R = unknown, unknown, 0x108, 1152
		l.r2rEntries = 432
		sync := int64(80)
		if o.slots == slots806 {
			sync--
		}
		l.variables(16, sync, 21, 43)
		l.storeFirst, l.threadLink, l.threadOSID, l.threadID, l.threadObject = 160, 232, 424, 32, 432
	case 9:
		l.moduleBase, l.modulePath, l.moduleName, l.moduleR2R = 288, 272, 0x108, 984
		l.r2rEntries = 432
		l.variables(16, 82, 21, 46)
		l.storeFirst = 160
	case 10:
		l.constantMap, l.packedBounds = true, true
		l.moduleBase, l.modulePath, l.moduleName, l.moduleR2R = 224, 200, 192, 704
		l.r2rEntries = 360
		l.variables(15, 78, 20, 45)
		l.storeFirst = 88
	default:
		known, l.noBounds = false, true
		for _, f := range l.fields() {
			*f.to = unknown
		}
	}
	if known && o.port.moved != nil {
		o.port.moved(&l, v.Major)
	}
	if c == nil && !known {
		return nil, fmt.Errorf("version %v: %w", v, errVersion)
	}
	if c != nil {
		if err := l.apply(c, known); err != nil {
			return nil, fmt.Errorf("version %v: %w", v, err)
		}
	}
	return &l, nil
}

// slots806 is how many entries g_dacTable has in 8.0.6: one of those before the table of sync blocks is not there yet.
const slots806 = 156

// variables sets the entries of g_dacTable for variables of the runtime.
// Source: src/coreclr/inc/dacvars.h; seen in 8.0.6, 8.0.30, 9.0.5, 9.0.7, 10.0.9 and 10.0.11.
func (l *layout) variables(threadStore, syncTable, domain, stringTable int64) {
	l.threadStore.slot, l.syncTable.slot = threadStore, syncTable
	l.domain.slot, l.stringTable.slot = domain, stringTable
}

// apply takes what the runtime says of itself. Where its version is not known that has to be all which is required.
func (l *layout) apply(c *contract, known bool) error {
	switch id := c.contracts["ExecutionManager"]; {
	case id == "1":
		l.constantMap = false
	case id == "2", id == "c1":
		l.constantMap = true
	case id == "" && !known:
		return fmt.Errorf("%w: it does not say which ExecutionManager it has", errVersion)
	case id != "":
		return fmt.Errorf("%w: its ExecutionManager is of contract %q", errVersion, id)
	}
	const most = 1 << 14 // the largest structure that was seen has 4 KB
	for _, f := range l.fields() {
		switch at, ok := c.offsets[f.name]; {
		case ok && at <= most && at%f.align == 0:
			*f.to = at
		case ok:
			return fmt.Errorf("%w: it has %s at %d", errVersion, f.name, at)
		case f.required && !known:
			return fmt.Errorf("%w: it does not say where %s is", errVersion, f.name)
		}
	}
	if l.methodFlags+2 > methodBytes || l.methodIndex >= methodBytes || l.dynamicName+wordSize > methodBytes ||
		l.chunkTable+wordSize > l.chunkSize || l.chunkToken+2 > l.chunkSize {
		return fmt.Errorf("%w: its MethodDesc is larger than any that was seen", errVersion)
	}
	for _, g := range l.globals() {
		switch n, ok := c.globals[g.name]; {
		case ok && n > 0 && n <= g.most:
			*g.to = n
		case ok:
			return fmt.Errorf("%w: it has %d for %s", errVersion, n, g.name)
		case !known:
			return fmt.Errorf("%w: it does not say what %s is", errVersion, g.name)
		}
	}
	for name, to := range map[string]*variable{"ThreadStore": &l.threadStore, "SyncTableEntries": &l.syncTable,
		"AppDomain": &l.domain, "StringMethodTable": &l.stringTable} {
		to.at = mem.Addr(c.globals[name])
	}
	return nil
}

// global is a number that a descriptor may have.
type globalNumber struct {
	name string
	to   *uint64
	most uint64
}

func (l *layout) globals() []globalNumber {
	return []globalNumber{{"MethodDescTokenRemainderBitCount", &l.tokenBits, 23},
		{"MethodDescAlignment", &l.methodAlignment, 64}, {"StubCodeBlockLast", &l.stubLast, 1<<12 - 1},
		{"HashMapValueMask", &l.hashMask, 1<<64 - 1}}
}

// field is an offset that a descriptor may have: a multiple of align. Where no table knows the version it is unknown
// without, and nothing is read of the runtime if it is required.
type field struct {
	name     string
	to       *int64
	align    int64
	required bool
}

func (l *layout) fields() []field {
	return []field{
		{"RangeSectionFragment.Next", &l.fragmentNext, 8, true},
		{"RangeSectionFragment.RangeSection", &l.fragmentSection, 8, true},
		{"RangeSection.RangeBegin", &l.sectionBegin, 8, true},
		{"RangeSection.RangeEndOpen", &l.sectionEnd, 8, true},
		{"RangeSection.Flags", &l.sectionFlags, 4, true},
		{"RangeSection.HeapList", &l.sectionHeap, 8, true},
		{"RangeSection.R2RModule", &l.sectionModule, 8, true},
		{"RangeSection.NextForDelete", &l.sectionDeleted, 8, true},
		{"CodeHeapListNode.StartAddress", &l.heapStart, 8, true},
		{"CodeHeapListNode.EndAddress", &l.heapEnd, 8, true},
		{"CodeHeapListNode.MapBase", &l.heapBase, 8, true},
		{"CodeHeapListNode.HeaderMap", &l.heapMap, 8, true},
		{"RealCodeHeader.DebugInfo", &l.headerDebugInfo, 8, false},
		{"RealCodeHeader.MethodDesc", &l.headerMethod, 8, true},
		{"RealCodeHeader.NumUnwindInfos", &l.headerInfos, 4, true},
		{"RealCodeHeader.UnwindInfos", &l.headerInfo, 4, true},
		{"MethodDesc.Flags3AndTokenRemainder", &l.methodToken, 2, true},
		{"MethodDesc.ChunkIndex", &l.methodIndex, 1, true},
		{"MethodDesc.Flags", &l.methodFlags, 2, true},
		{"MethodDescChunk.!", &l.chunkSize, 8, true},
		{"MethodDescChunk.MethodTable", &l.chunkTable, 8, true},
		{"MethodDescChunk.FlagsAndTokenRange", &l.chunkToken, 2, true},
		{"DynamicMethodDesc.MethodName", &l.dynamicName, 8, true},
		{"InstantiatedMethodDesc.PerInstInfo", &l.instantiatedDictionary, 8, true},
		{"InstantiatedMethodDesc.NumGenericArgs", &l.instantiatedArgs, 2, true},
		{"MethodTable.MTFlags", &l.tableFlags, 4, true},
		{"MethodTable.MTFlags2", &l.tableFlags2, 4, true},
		{"MethodTable.EEClassOrCanonMT", &l.tableClass, 8, true},
		{"MethodTable.Module", &l.tableModule, 8, true},
		{"MethodTable.PerInstInfo", &l.tableInstances, 8, true},
		{"ParamTypeDesc.TypeArg", &l.paramArgument, 8, true},
		{"ArrayClass.Rank", &l.arrayRank, 1, true},
		{"TypeVarTypeDesc.Token", &l.variableToken, 4, true},
		{"Module.Base", &l.moduleBase, 8, true},
		{"Module.Path", &l.modulePath, 8, false},
		{"Module.SimpleName", &l.moduleName, 8, false},
		{"Module.ReadyToRunInfo", &l.moduleR2R, 8, true},
		{"ReadyToRunInfo.ReadyToRunHeader", &l.r2rHeader, 8, true},
		{"ReadyToRunInfo.CompositeInfo", &l.r2rComposite, 8, true},
		{"ReadyToRunInfo.RuntimeFunctions", &l.r2rFunctions, 8, true},
		{"ReadyToRunInfo.NumRuntimeFunctions", &l.r2rCount, 4, true},
		{"ReadyToRunInfo.DelayLoadMethodCallThunks", &l.r2rThunks, 8, true},
		{"ReadyToRunInfo.EntryPointToMethodDescMap", &l.r2rEntries, 8, true},
		{"ThreadStore.FirstThreadLink", &l.storeFirst, 8, false},
		{"Thread.LinkNext", &l.threadLink, 8, false},
		{"Thread.OSId", &l.threadOSID, 4, false},
		{"Thread.Id", &l.threadID, 4, false},
		{"Thread.GCHandle", &l.threadObject, 8, false},
		{"Thread.ExposedObject", &l.threadObject, 8, false},
	}
}
