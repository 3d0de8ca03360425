package heap

func (l *Layout) frameFields() []field {
	f, r, k := &l.Frame, &l.Registers, &l.Kinds
	return []field{
		{&f.Context, []string{"off_fp_context"}, always(-8)},
		{&f.Function, []string{"off_fp_function"}, always(-16)},
		{&f.ArgCount, nil, always(-24)},
		{&f.BytecodeArray, []string{"off_fp_bytecode_array"}, always(-32)},
		{&f.BytecodeOffset, []string{"off_fp_bytecode_offset"}, always(-40)},
		{&f.Args, []string{"off_fp_args"}, always(16)},
		{&r.Function, []string{"JSFunctionRegister"}, always(7)},
		{&r.Context, []string{"ContextRegister"}, always(6)},
		{&r.BytecodeArray, []string{"InterpreterBytecodeArrayRegister"}, always(12)},
		{&r.BytecodeOffset, []string{"InterpreterBytecodeOffsetRegister"}, always(9)},
		{&k.Mask, []string{"CodeKindFieldMask"}, always(15)},
		{&k.Shift, []string{"CodeKindFieldShift"}, always(0)},
		{&k.Interpreted, []string{"CodeKindInterpretedFunction"}, nil},
		{&k.Baseline, []string{"CodeKindBaseline"}, always(11)},
	}
}

func (l *Layout) objectFields() []field {
	m, s := &l.Map, &l.Strings
	return []field{
		{&m.Of, []string{"class_HeapObject__map__Map"}, always(0)},
		{&m.InstanceType, []string{"class_Map__instance_type__uint16_t"}, always(12)},
		{&m.BitField3, []string{"class_Map__bit_field3__int"}, always(16)},
		{&m.Prototype, typed("class_Map__prototype", "Object", "HeapObject", "JSPrototype"), always(24)},
		{&m.Constructor, typed("class_Map__constructor_or_back_pointer", "Object"), always(32)},
		{&m.Descriptors, append(typed("class_Map__instance_descriptors", "DescriptorArray"),
			"class_Map__instance_descriptors_offset"), always(40)},
		{&m.InstanceSize, []string{"class_Map__instance_size_in_words__char"}, always(8)},
		{&m.InObjectStart, []string{"class_Map__inobject_properties_start_or_constructor_function_index__char"},
			always(9)},
		{&m.DescriptorCount.Mask, []string{"bit_field3_number_of_own_descriptors_mask"}, always(0x3ff << 10)},
		{&m.DescriptorCount.Shift, []string{"bit_field3_number_of_own_descriptors_shift"}, always(10)},
		{&m.DictionaryBit, []string{"bit_field3_is_dictionary_map_shift"}, always(21)},
		{&s.Length, []string{"class_String__length__int32_t"}, always(12)},
		{&s.Chars, []string{"class_SeqOneByteString__chars__char"}, always(16)},
		{&s.ConsFirst, typed("class_ConsString__first", "String"), always(16)},
		{&s.ConsSecond, typed("class_ConsString__second", "String"), always(24)},
		{&s.ThinActual, typed("class_ThinString__actual", "String"), always(16)},
		{&s.SlicedParent, typed("class_SlicedString__parent", "String"), always(16)},
		{&s.SlicedOffset, []string{"class_SlicedString__offset__SMI"}, always(24)},
		{&s.ExternalResource, []string{"class_ExternalString__resource__Object"}, always(16)},
		{&s.ExternalData, nil, always(24)},
		{&s.RepresentationMask, []string{"StringRepresentationMask"}, always(7)},
		{&s.Seq, []string{"SeqStringTag"}, always(0)},
		{&s.Cons, []string{"ConsStringTag"}, always(1)},
		{&s.External, []string{"ExternalStringTag"}, always(2)},
		{&s.Sliced, []string{"SlicedStringTag"}, always(3)},
		{&s.Thin, []string{"ThinStringTag"}, always(5)},
		{&s.OneByte, []string{"OneByteStringTag"}, always(8)},
		{&l.Property.Index.Mask, []string{"prop_index_mask"}, always(0x3ff << 19)},
		{&l.Property.Index.Shift, []string{"prop_index_shift"}, always(19)},
		{&l.Property.Descriptor, []string{"prop_location_mask"}, always(1 << 5)},
		// Data that an embedder keeps for continuations came in front of the other fields.
		{&l.Reaction.Next, nil, since(8, 12, 3, 16)},
		{&l.Reaction.Fulfill, nil, since(24, 12, 3, 32)},
		{&l.Reaction.Promise, nil, since(32, 12, 3, 40)},
		{&l.ObjectProperties, typed("class_JSReceiver__raw_properties_or_hash", "Object"), always(8)},
		{&l.ObjectElements, []string{"class_JSObject__elements__Object"}, always(16)},
		{&l.SymbolName, []string{"class_Symbol__name__Object"}, always(16)},
		{&l.NumberValue, []string{"class_HeapNumber__value__double"}, always(8)},
		{&l.OddballKind, []string{"class_Oddball__kind__int", "class_Oddball__kind_offset__int"}, always(40)},
		{&l.DescriptorsData, []string{"class_DescriptorArray__header_size__uintptr_t"}, since(24, 14, 0, 32)},
		{&l.ArrayLen, []string{"class_FixedArrayBase__length__SMI"}, always(8)},
		{&l.ArrayData, []string{"class_FixedArray__data__uintptr_t"}, always(16)},
	}
}

func (l *Layout) functionFields() []field {
	f, s, p, c := &l.Function, &l.Shared, &l.Script, &l.Scope
	const shared = "class_SharedFunctionInfo__"
	return []field{
		{&f.Shared, typed("class_JSFunction__shared", "SharedFunctionInfo"), since(24, 11, 7, 32)},
		{&f.Context, typed("class_JSFunction__context", "Context"), since(32, 11, 7, 40)},
		{&s.Data, typed(shared+"function_data", "Object"), since(8, 12, 8, 16)},
		{&s.NameOrScope, typed(shared+"name_or_scope_info", "Object", "NameOrScopeInfoT"), since(16, 12, 8, 24)},
		{&s.Script, append(typed(shared+"script", "HeapObject"), shared+"script_or_debug_info__HeapObject",
			shared+"raw_script__Tagged_Object_"), since(32, 12, 8, 40)},
		{&s.Flags, []string{shared + "flags__int"}, since(48, 12, 8, 56)},
		{&s.TokenOffset, []string{shared + "raw_function_token_offset__int16_t"}, since(44, 12, 8, 52)},
		{&s.InWrapper, typed("class_SharedFunctionInfoWrapper__shared_info", "SharedFunctionInfo"), always(8)},
		{&s.UncompiledName, typed("class_UncompiledData__inferred_name", "String"), always(8)},
		{&s.UncompiledStart, []string{"class_UncompiledData__start_position__int32_t"}, always(16)},
		{&p.Source, []string{"class_Script__source__Object"}, always(8)},
		{&p.Name, []string{"class_Script__name__Object"}, always(16)},
		{&p.LineOffset, []string{"class_Script__line_offset__SMI"}, always(24)},
		{&p.ColumnOffset, []string{"class_Script__column_offset__SMI"}, always(32)},
		{&p.LineEnds, []string{"class_Script__line_ends__Object"}, always(56)},
		{&c.Flags, nil, always(0)},
		{&c.Locals, []string{"scopeinfo_idx_ncontextlocals"}, always(2)},
		{&c.FirstVars, []string{"scopeinfo_idx_first_vars"}, since(3, 12, 8, 5)},
		// Start and end position come in front of the variables where two more slots are there.
		{&c.Positions, nil, since(0, 12, 8, 3)},
		// kScopeInfoMaxInlinedLocalNamesSize in src/objects/scope-info.h
		{&c.MaxInlined, nil, since(maxLocals+1, 10, 0, 75)},
	}
}

func (l *Layout) codeFields() []field {
	b, c, d := &l.Bytecode, &l.Code, &l.Deopt
	positions := since(32, 12, 3, 24)
	data := []step{{0, 0, 54}, {10, 2, 56}, {11, 0, 54}, {11, 7, 52}, {12, 3, 64}}
	return []field{
		{&b.Length, []string{"class_BytecodeArray__length__SMI"}, always(8)},
		{&b.Positions, typed("class_BytecodeArray__source_position_table", "Object", "HeapObject", "ByteArray",
			"TrustedByteArray"), positions},
		{&b.Data, []string{"class_BytecodeArray__data__uintptr_t"}, data},
		{&c.Deopt, typed("class_Code__deoptimization_data", "FixedArray"), since(16, 11, 7, 8)},
		{&c.Positions, typed("class_Code__source_position_table", "ByteArray"), since(24, 11, 7, 16)},
		{&c.Start, []string{"class_Code__instruction_start__Address", "class_Code__instruction_start__uintptr_t"},
			[]step{{0, 0, 128}, {11, 0, 40}, {11, 7, 32}, {12, 3, 40}}},
		{&c.Size, []string{"class_Code__instruction_size__int"},
			[]step{{0, 0, 40}, {11, 0, 56}, {11, 7, 44}, {12, 3, 52}, {13, 0, 56}}},
		{&c.Flags, []string{"class_Code__flags__uint32_t"},
			[]step{{0, 0, 48}, {11, 7, 40}, {12, 3, 48}, {13, 0, 52}}},
		{&c.StreamCode, nil, always(8)},
		{&d.InlinedCount, []string{"DeoptimizationDataInlinedFunctionCountIndex"}, always(1)},
		{&d.Literals, []string{"DeoptimizationDataLiteralArrayIndex"}, since(2, 13, 0, 3)},
		{&d.Shared, []string{"DeoptimizationDataSharedFunctionInfoIndex"}, nil},
		{&d.Inlining, []string{"DeoptimizationDataInliningPositionsIndex"}, since(7, 13, 0, 8)},
	}
}

// typed are the symbols of a field whose C++ type is one of types, bare or as Tagged<type>: gen-postmortem-metadata.py
// puts it into the name with everything but letters, digits and underscores made an underscore.
func typed(name string, types ...string) []string {
	var out []string
	for _, t := range types {
		out = append(out, name+"__"+t, name+"__Tagged_"+t+"_")
	}
	return out
}

// wrappedShared are the names of the index of a SharedFunctionInfoWrapper in deoptimisation data: V8 12.8, and 13 on.
var wrappedShared = []string{
	"DeoptimizationDataSharedFunctionInfoWrapperIndex",
	"DeoptimizationDataWrappedSharedFunctionInfoIndex",
}

type typeField struct {
	to     *uint16
	symbol string
	needed bool
}

func (l *Layout) typeFields() []typeField {
	t := &l.Types
	return []typeField{
		{&t.FirstFunction, "type_JSFunction__JS_FUNCTION_TYPE", true},
		{&t.LastFunction, "LastJSFunctionType", false},
		{&t.FirstContext, "FirstContextType", false},
		{&t.LastContext, "LastContextType", false},
		{&t.FirstNonstring, "FirstNonstringType", false},
		{&t.Shared, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", true},
		{&t.SharedWrapper, "type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE", false},
		{&t.Scope, "type_ScopeInfo__SCOPE_INFO_TYPE", true},
		{&t.Script, "type_Script__SCRIPT_TYPE", true},
		{&t.BytecodeArray, "type_BytecodeArray__BYTECODE_ARRAY_TYPE", true},
		{&t.Code, "type_Code__CODE_TYPE", true},
		{&t.InstructionStream, "type_InstructionStream__INSTRUCTION_STREAM_TYPE", false},
		{&t.FixedArray, "type_FixedArray__FIXED_ARRAY_TYPE", true},
		{&t.WeakFixedArray, "type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE", false},
		{&t.ByteArray, "type_ByteArray__BYTE_ARRAY_TYPE", true},
		{&t.TrustedByteArray, "type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE", false},
		{&t.Oddball, "type_Oddball__ODDBALL_TYPE", true},
		{&t.Map, "type_Map__MAP_TYPE", true},
		{&t.Descriptors, "type_DescriptorArray__DESCRIPTOR_ARRAY_TYPE", false},
		{&t.AccessorPair, "type_AccessorPair__ACCESSOR_PAIR_TYPE", false},
		{&t.PropertyArray, "type_PropertyArray__PROPERTY_ARRAY_TYPE", false},
		{&t.Promise, "type_JSPromise__JS_PROMISE_TYPE", false},
		{&t.PromiseReaction, "type_PromiseReaction__PROMISE_REACTION_TYPE", false},
		{&t.PromiseCapability, "type_PromiseCapability__PROMISE_CAPABILITY_TYPE", false},
		{&t.AsyncFunction, "type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE", false},
		{&t.AsyncGenerator, "type_JSAsyncGeneratorObject__JS_ASYNC_GENERATOR_OBJECT_TYPE", false},
		{&t.Generator, "type_JSGeneratorObject__JS_GENERATOR_OBJECT_TYPE", false},
		{&t.AsyncRequest, "type_AsyncGeneratorRequest__ASYNC_GENERATOR_REQUEST_TYPE", false},
		{&t.Jobs[0], "type_PromiseFulfillReactionJobTask__PROMISE_FULFILL_REACTION_JOB_TASK_TYPE", false},
		{&t.Jobs[1], "type_PromiseRejectReactionJobTask__PROMISE_REJECT_REACTION_JOB_TASK_TYPE", false},
		{&t.Jobs[2], "type_PromiseResolveThenableJobTask__PROMISE_RESOLVE_THENABLE_JOB_TASK_TYPE", false},
		{&t.Module, "type_SourceTextModule__SOURCE_TEXT_MODULE_TYPE", false},
		{&t.ContextCell, "type_ContextCell__CONTEXT_CELL_TYPE", false},
		{&t.MapObject, "type_JSMap__JS_MAP_TYPE", false},
		{&t.SetObject, "type_JSSet__JS_SET_TYPE", false},
		{&t.APIObject, "APIObjectType", false},
		{&t.GlobalObject, "type_JSGlobalObject__JS_GLOBAL_OBJECT_TYPE", false},
		{&t.GlobalProxy, "type_JSGlobalProxy__JS_GLOBAL_PROXY_TYPE", false},
		{&t.Symbol, "type_Symbol__SYMBOL_TYPE", false},
		{&t.HeapNumber, "type_HeapNumber__HEAP_NUMBER_TYPE", false},
		{&t.Array, "type_JSArray__JS_ARRAY_TYPE", false},
		{&t.BoundFunction, "type_JSBoundFunction__JS_BOUND_FUNCTION_TYPE", false},
		{&t.Uncompiled[0], "type_UncompiledDataWithPreparseData__UNCOMPILED_DATA_WITH_PREPARSE_DATA_TYPE", false},
		{&t.Uncompiled[1], "type_UncompiledDataWithoutPreparseData__UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_TYPE", false},
		{&t.Uncompiled[2], "type_UncompiledDataWithPreparseDataAndJob__" +
			"UNCOMPILED_DATA_WITH_PREPARSE_DATA_AND_JOB_TYPE", false},
		{&t.Uncompiled[3], "type_UncompiledDataWithoutPreparseDataWithJob__" +
			"UNCOMPILED_DATA_WITHOUT_PREPARSE_DATA_WITH_JOB_TYPE", false},
	}
}

// frameTypeNames are those of STACK_FRAME_TYPE_LIST in src/execution/frames.h, of all versions; their numbers move.
var frameTypeNames = []string{
	"EntryFrame", "ConstructEntryFrame", "ExitFrame", "InterpretedFrame", "BaselineFrame", "MaglevFrame",
	"OptimizedFrame", "TurbofanFrame", "TurbofanJSFrame", "StubFrame", "TurbofanStubWithContextFrame",
	"BuiltinContinuationFrame", "JavaScriptBuiltinContinuationFrame", "JavaScriptBuiltinContinuationWithCatchFrame",
	"InternalFrame", "ConstructFrame", "FastConstructFrame", "BuiltinFrame", "BuiltinExitFrame",
	"ApiCallbackExitFrame", "ApiAccessorExitFrame", "ApiConstructExitFrame", "ApiNamedAccessorExitFrame",
	"ApiIndexedAccessorExitFrame", "NativeFrame", "IrregexpFrame", "StackSwitchFrame", "WasmFrame",
	"WasmToJsFrame", "WasmToJsFunctionFrame", "JsToWasmFrame", "WasmJspiFrame", "WasmDebugBreakFrame",
	"WasmStackEntryFrame", "WasmStackExitFrame", "CWasmEntryFrame", "WasmExitFrame", "WasmLiftoffSetupFrame",
	"WasmSegmentStartFrame", "WasmCompileLazyFrame", "WasmInterpreterEntryFrame",
}
