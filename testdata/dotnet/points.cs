// Prints the sequence points of an assembly that mcs built with -debug, out of its .mdb file: method row, IL offset,
// line and file between tabs. It runs in Mono.
using System;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Mono.Cecil.Mdb;

static class Points
{
	static void Main(string[] args)
	{
		var module = ModuleDefinition.ReadModule(args[0],
			new ReaderParameters { ReadSymbols = true, SymbolReaderProvider = new MdbReaderProvider() });
		var methods = new MethodDefinition[1 << 16];
		foreach (TypeDefinition type in module.GetTypes())
			foreach (MethodDefinition m in type.Methods)
				methods[m.MetadataToken.RID] = m;
		foreach (MethodDefinition m in methods) {
			if (m == null || !m.HasBody)
				continue;
			foreach (Instruction i in m.Body.Instructions)
				if (i.SequencePoint != null)
					Console.WriteLine("{0}\t{1}\t{2}\t{3}", m.MetadataToken.RID, i.Offset, i.SequencePoint.StartLine,
						i.SequencePoint.Document.Url);
		}
	}
}
