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
	tokenIn16    bool // the row of a type is in 16 bits

	fragmentNext, fragmentBegin, fragmentEnd, fragmentSection int64

	sectionBegin, sectionEnd, sectionFlags, sectionHeap, sectionModule, sectionDeleted int64

	heapStart, heapEnd, heapBase, heapMap int64

	headerDebugInfo, headerMethod, headerInfos, headerInfo int64

	methodToken, methodIndex, methodFlags, methodAlignment, tokenBits int64

	chunkSize, chunkTable, chunkToken int64

	dynamicName, instantiatedDictionary, instantiatedArgs int64

	tableFlags, tableFlags2, tableClass, tableModule, tableInstances int64

	paramArgument, arrayRank, variableToken int64

	moduleBase, modulePath, moduleName, moduleR2R int64 // or unknown

	r2rFunctions, r2rCount, r2rThunks int64
	r2rComposite, r2rEntries          int64 // or unknown

	stubLast, hashMask uint64

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
		fragmentNext: 0, fragmentBegin: 8, fragmentEnd: 16, fragmentSection: 24,
		sectionBegin: 0, sectionEnd: 8, sectionFlags: 16, sectionModule: 32, sectionHeap: 40, sectionDeleted: 64,
		heapStart: 16, heapEnd: 24, heapBase: 32, heapMap: 40,
		headerDebugInfo: 0, headerMethod: 24, headerInfos: 32, headerInfo: 36,
		methodToken: 0, methodIndex: 2, methodFlags: 6, methodAlignment: 8, tokenBits: 12,
		chunkSize: 24, chunkTable: 0, chunkToken: 18,
		dynamicName: 32, instantiatedDictionary: 24, instantiatedArgs: 34,
		tableFlags: 0, tableFlags2: 8, tableClass: 40, tableModule: 24, tableInstances: 48,
		paramArgument: 16, arrayRank: 72, variableToken: 40,
		r2rFunctions: 80, r2rCount: 88, r2rThunks: 112,
		stubLast: 0xf, hashMask: 1<<63 - 1,
		threadLink: 112, threadOSID: 296, threadID: 16, threadObject: 304,
		objectName: 24, objectThread: 40, objectID: 52,
		threadStore: variable{slot: unknown}, syncTable: variable{slot: unknown}, domain: variable{slot: unknown},
		stringTable: variable{slot: unknown},
	}
}

var errVersion = errors.New("its structures are not known")

// layoutOf is the layout of a version, as far as tables know it, with what the runtime says of itself over it. c is nil
// if it says nothing. A version that is not in the tables has to say all.
func layoutOf(v Version, c *contract) (*layout, error) {
	l := base()
	switch v.Major {
	case 8:
		l.dynamicName, l.tokenIn16 = 24, true
		l.moduleBase, l.modulePath, l.moduleName, l.moduleR2R = unknown, unknown, 0x108, 1152
		l.r2rComposite, l.r2rEntries = unknown, 432
		l.variables(16, 80, 21, 43)
		l.storeFirst, l.threadLink, l.threadOSID, l.threadID, l.threadObject = 160, 232, 424, 32, 432
	case 9:
		l.moduleBase, l.modulePath, l.moduleName, l.moduleR2R = 288, 272, 0x108, 984
		l.r2rComposite, l.r2rEntries = unknown, 432
		l.variables(16, 82, 21, 46)
		l.storeFirst = 160
	case 10:
		l.constantMap, l.packedBounds = true, true
		l.moduleBase, l.modulePath, l.moduleName, l.moduleR2R = 224, 200, 192, 704
		l.r2rComposite, l.r2rEntries = 40, 360
		l.variables(15, 78, 20, 45)
		l.storeFirst = 88
	default:
		l.noBounds = true
		if c == nil || c.contracts["ExecutionManager"] == "" {
			return nil, fmt.Errorf("%w: version %v", errVersion, v)
		}
		l.moduleBase, l.modulePath, l.moduleName, l.moduleR2R = unknown, unknown, unknown, unknown
		l.r2rComposite, l.r2rEntries = unknown, unknown
		l.storeFirst = unknown
	}
	if c != nil {
		if err := l.apply(c); err != nil {
			return nil, err
		}
	}
	return &l, nil
}

// variables sets the entries of g_dacTable for variables of the runtime.
// Source: src/coreclr/inc/dacvars.h; seen in 8.0.30, 9.0.5, 9.0.7, 10.0.9 and 10.0.11.
func (l *layout) variables(threadStore, syncTable, domain, stringTable int64) {
	l.threadStore.slot, l.syncTable.slot = threadStore, syncTable
	l.domain.slot, l.stringTable.slot = domain, stringTable
}

// apply takes what the runtime says of itself.
func (l *layout) apply(c *contract) error {
	switch id := c.contracts["ExecutionManager"]; id {
	case "":
	case "1":
		l.constantMap = false
	case "2", "c1":
		l.constantMap = true
	default:
		return fmt.Errorf("%w: its ExecutionManager is of contract %q", errVersion, id)
	}
	const most = 1 << 14 // the largest structure that was seen has 4 KB
	for name, to := range l.fields() {
		if at, ok := c.offsets[name]; ok && at <= most {
			*to = at
		}
	}
	if l.methodFlags+2 > methodBytes || l.methodIndex >= methodBytes || l.dynamicName+wordSize > methodBytes {
		return fmt.Errorf("%w: its MethodDesc is larger than any that was seen", errVersion)
	}
	for name, to := range map[string]*int64{"MethodDescTokenRemainderBitCount": &l.tokenBits,
		"MethodDescAlignment": &l.methodAlignment} {
		if n, ok := c.globals[name]; ok && n > 0 && n < 24 {
			*to = int64(n)
		}
	}
	for name, to := range map[string]*variable{"ThreadStore": &l.threadStore, "SyncTableEntries": &l.syncTable,
		"AppDomain": &l.domain, "StringMethodTable": &l.stringTable} {
		to.at = mem.Addr(c.globals[name])
	}
	if n, ok := c.globals["StubCodeBlockLast"]; ok && n < 1<<12 {
		l.stubLast = n
	}
	if n, ok := c.globals["HashMapValueMask"]; ok {
		l.hashMask = n
	}
	return nil
}

// fields are the offsets that a descriptor may have.
func (l *layout) fields() map[string]*int64 {
	return map[string]*int64{
		"RangeSectionFragment.Next": &l.fragmentNext, "RangeSectionFragment.RangeBegin": &l.fragmentBegin,
		"RangeSectionFragment.RangeEndOpen": &l.fragmentEnd, "RangeSectionFragment.RangeSection": &l.fragmentSection,
		"RangeSection.RangeBegin": &l.sectionBegin, "RangeSection.RangeEndOpen": &l.sectionEnd,
		"RangeSection.Flags": &l.sectionFlags, "RangeSection.HeapList": &l.sectionHeap,
		"RangeSection.R2RModule": &l.sectionModule, "RangeSection.NextForDelete": &l.sectionDeleted,
		"CodeHeapListNode.StartAddress": &l.heapStart, "CodeHeapListNode.EndAddress": &l.heapEnd,
		"CodeHeapListNode.MapBase": &l.heapBase, "CodeHeapListNode.HeaderMap": &l.heapMap,
		"RealCodeHeader.DebugInfo": &l.headerDebugInfo, "RealCodeHeader.MethodDesc": &l.headerMethod,
		"RealCodeHeader.NumUnwindInfos": &l.headerInfos, "RealCodeHeader.UnwindInfos": &l.headerInfo,
		"MethodDesc.Flags3AndTokenRemainder": &l.methodToken, "MethodDesc.ChunkIndex": &l.methodIndex,
		"MethodDesc.Flags": &l.methodFlags, "MethodDescChunk.!": &l.chunkSize,
		"MethodDescChunk.MethodTable": &l.chunkTable, "MethodDescChunk.FlagsAndTokenRange": &l.chunkToken,
		"DynamicMethodDesc.MethodName":          &l.dynamicName,
		"InstantiatedMethodDesc.PerInstInfo":    &l.instantiatedDictionary,
		"InstantiatedMethodDesc.NumGenericArgs": &l.instantiatedArgs,
		"MethodTable.MTFlags":                   &l.tableFlags, "MethodTable.MTFlags2": &l.tableFlags2,
		"MethodTable.EEClassOrCanonMT": &l.tableClass, "MethodTable.Module": &l.tableModule,
		"MethodTable.PerInstInfo": &l.tableInstances, "ParamTypeDesc.TypeArg": &l.paramArgument,
		"ArrayClass.Rank": &l.arrayRank, "TypeVarTypeDesc.Token": &l.variableToken,
		"Module.Base": &l.moduleBase, "Module.Path": &l.modulePath, "Module.SimpleName": &l.moduleName,
		"Module.ReadyToRunInfo": &l.moduleR2R, "ReadyToRunInfo.CompositeInfo": &l.r2rComposite,
		"ReadyToRunInfo.RuntimeFunctions": &l.r2rFunctions, "ReadyToRunInfo.NumRuntimeFunctions": &l.r2rCount,
		"ReadyToRunInfo.DelayLoadMethodCallThunks": &l.r2rThunks,
		"ReadyToRunInfo.EntryPointToMethodDescMap": &l.r2rEntries,
		"ThreadStore.FirstThreadLink":              &l.storeFirst, "Thread.LinkNext": &l.threadLink,
		"Thread.OSId": &l.threadOSID, "Thread.Id": &l.threadID,
		"Thread.GCHandle": &l.threadObject, "Thread.ExposedObject": &l.threadObject,
	}
}
