// Prints what System.Reflection.Metadata says about assemblies: the truth that package metadata and pdb are compared
// with. One line for each method, fields between tabs:
//
// Output goes through Console.Write: mcs cannot read the overloads with spans that TextWriter has.
//
//   M file token type+nested method special parameters-of-type,... parameters-of-method,...
//   K file token kickoff            of a portable PDB: state machine method, method that starts it
//   L file token offset line path   of a portable PDB: sequence point, line 0 for hidden
using System;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.IO;
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;
using System.Text;

static class Truth
{
	static int Main(string[] args)
	{
		var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false), 1 << 16);
		Console.SetOut(output);
		for (int i = 0; i < args.Length; i++) {
			try {
				One(args[i]);
			} catch (BadImageFormatException) {
				Put("B\t", args[i], "\n");
			} catch (InvalidOperationException) { // no metadata
				Put("B\t", args[i], "\n");
			}
		}
		Console.Out.Flush();
		return 0;
	}

	static void Put(params object[] all)
	{
		for (int i = 0; i < all.Length; i++)
			Console.Write(all[i]);
	}

	static string Join(string a, string between, string b)
	{
		return new StringBuilder().AppendFormat("{0}{1}{2}", a, between, b).ToString();
	}

	static void One(string path)
	{
		var pe = new PEReader(File.OpenRead(path));
		if (!pe.HasMetadata) {
			Put("B\t", path, "\n");
			return;
		}
		var md = PEReaderExtensions.GetMetadataReader(pe);
		Put("A\t", path, "\t", (md.IsAssembly ? md.GetString(md.GetAssemblyDefinition().Name) : ""), "\n");
		foreach (MethodDefinitionHandle h in md.MethodDefinitions) {
			MethodDefinition m = md.GetMethodDefinition(h);
			bool special = (m.Attributes & MethodAttributes.SpecialName) != 0;
			TypeDefinitionHandle owner = m.GetDeclaringType();
			Put("M\t", path, "\t", MetadataTokens.GetRowNumber(h), "\t", TypeName(md, owner), "\t", md.GetString(m.Name), "\t", (special ? "1" : "0"), "\t", Parameters(md, md.GetTypeDefinition(owner).GetGenericParameters()), "\t", Parameters(md, m.GetGenericParameters()), "\n");
		}
		foreach (DebugDirectoryEntry e in pe.ReadDebugDirectory()) {
			if (e.Type == DebugDirectoryEntryType.EmbeddedPortablePdb)
				Lines(path, pe.ReadEmbeddedPortablePdbDebugDirectoryData(e).GetMetadataReader(MetadataReaderOptions.Default, null));
		}
		string beside = Path.ChangeExtension(path, ".pdb");
		if (File.Exists(beside))
			Lines(path, MetadataReaderProvider.FromPortablePdbStream(File.OpenRead(beside), MetadataStreamOptions.Default, 0)
				.GetMetadataReader(MetadataReaderOptions.Default, null));
	}

	static string Parameters(MetadataReader md, GenericParameterHandleCollection all)
	{
		string names = "";
		for (int i = 0; i < all.Count; i++)
			names = Join(names, i == 0 ? "" : ",", md.GetString(md.GetGenericParameter(all[i]).Name));
		return names;
	}

	static string TypeName(MetadataReader md, TypeDefinitionHandle h)
	{
		TypeDefinition t = md.GetTypeDefinition(h);
		TypeDefinitionHandle around = t.GetDeclaringType();
		string name = md.GetString(t.Name);
		if (!around.IsNil)
			return Join(TypeName(md, around), "+", name);
		string space = md.GetString(t.Namespace);
		return space == "" ? name : Join(space, ".", name);
	}

	static void Lines(string path, MetadataReader pdb)
	{
		foreach (MethodDebugInformationHandle h in pdb.MethodDebugInformation) {
			MethodDebugInformation m = pdb.GetMethodDebugInformation(h);
			int token = MetadataTokens.GetRowNumber(h);
			MethodDefinitionHandle kickoff = m.GetStateMachineKickoffMethod();
			if (!kickoff.IsNil)
				Put("K\t", path, "\t", token, "\t", MetadataTokens.GetRowNumber(kickoff), "\n");
			if (m.SequencePointsBlob.IsNil)
				continue;
			foreach (SequencePoint p in m.GetSequencePoints()) {
				string file = p.Document.IsNil ? "" : pdb.GetString(pdb.GetDocument(p.Document).Name);
				Put("L\t", path, "\t", token, "\t", p.Offset, "\t", (p.IsHidden ? 0 : p.StartLine), "\t", file, "\n");
			}
		}
	}
}
