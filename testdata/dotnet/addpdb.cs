// Gives an assembly that mcs built a portable PDB, made by System.Reflection.Metadata:
//
//   addpdb ASSEMBLY POINTS OUT [PDB]
//
// POINTS is what points.cs printed. The PDB goes into OUT, or into the file PDB, which OUT then names. What is added
// lies behind the last section, which grows.
//
// What has overloads with spans is not used: mcs cannot read their type in this runtime.
using System;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.IO;
using System.IO.Compression;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

static class AddPdb
{
	static byte[] image;
	static readonly char[] tab = { '\t' };

	static int Main(string[] args)
	{
		image = File.ReadAllBytes(args[0]);
		var md = PEReaderExtensions.GetMetadataReader(new PEReader(File.OpenRead(args[0])));
		BlobContentId id;
		byte[] pdb = Pdb(md, File.ReadAllLines(args[1]), out id);
		bool embedded = args.Length < 4;
		Append(pdb, id, embedded, args[embedded ? 2 : 3]);
		Save(args[2], image);
		if (!embedded)
			Save(args[3], pdb);
		return 0;
	}

	static void Save(string path, byte[] data)
	{
		using (Stream s = File.Create(path))
			s.Write(data, 0, data.Length);
	}

	static byte[] Pdb(MetadataReader md, string[] points, out BlobContentId id)
	{
		var builder = new MetadataBuilder(0, 0, 0, 0);
		var documents = new Dictionary<string, DocumentHandle>();
		int next = 0;
		for (int rid = 1; rid <= md.GetTableRowCount(TableIndex.MethodDef); rid++) {
			var blob = new BlobBuilder(256);
			var document = default(DocumentHandle);
			int offset = 0, line = 0;
			bool any = false;
			for (; next < points.Length; next++) {
				string[] words = points[next].Split(tab, 4);
				if (Convert.ToInt32(words[0]) != rid)
					break;
				int at = Convert.ToInt32(words[1]), to = Convert.ToInt32(words[2]);
				if (!any) {
					if (!documents.TryGetValue(words[3], out document)) {
						document = builder.AddDocument(builder.GetOrAddDocumentName(words[3]), default(GuidHandle),
							default(BlobHandle), default(GuidHandle));
						documents[words[3]] = document;
					}
					blob.WriteCompressedInteger(0); // no local variables
				}
				blob.WriteCompressedInteger(at - offset);
				if (to >= 0xfee000) { // hidden
					blob.WriteCompressedInteger(0);
					blob.WriteCompressedInteger(0);
				} else {
					blob.WriteCompressedInteger(0); // lines
					blob.WriteCompressedInteger(1); // columns
					if (line == 0) {
						blob.WriteCompressedInteger(to);
						blob.WriteCompressedInteger(1);
					} else {
						blob.WriteCompressedSignedInteger(to - line);
						blob.WriteCompressedSignedInteger(0);
					}
					line = to;
				}
				any = true;
				offset = at;
			}
			builder.AddMethodDebugInformation(document, any ? builder.GetOrAddBlob(blob) : default(BlobHandle));
		}
		var rows = ImmutableArray.CreateBuilder<int>();
		for (int t = 0; t < MetadataTokens.TableCount; t++)
			rows.Add(t < 0x30 ? md.GetTableRowCount((TableIndex)t) : 0);
		var serialized = new BlobBuilder(256);
		id = new PortablePdbBuilder(builder, rows.ToImmutable(), default(MethodDefinitionHandle), null).Serialize(serialized);
		return serialized.ToArray();
	}

	static int U16(int at) { return BitConverter.ToUInt16(image, at); }
	static int U32(int at) { return BitConverter.ToInt32(image, at); }

	static void Put(int at, int v)
	{
		for (int i = 0; i < 4; i++)
			image[at + i] = (byte)(v >> 8 * i);
	}

	// Append puts the debug directory and its data behind the last section.
	static void Append(byte[] pdb, BlobContentId id, bool embedded, string name)
	{
		int pe = U32(60), sections = U16(pe + 6), optional = pe + 24;
		int last = optional + U16(pe + 20) + 40 * (sections - 1);
		int rva = U32(last + 12), offset = U32(last + 20);

		var packed = new MemoryStream();
		if (embedded) {
			using (var deflate = new DeflateStream(packed, CompressionMode.Compress, true))
				deflate.Write(pdb, 0, pdb.Length);
		}
		int start = image.Length; // a multiple of the file alignment
		var data = new MemoryStream();
		int code = 24 + name.Length + 1, directory = embedded ? 56 : 28, at = start + directory;
		Entry(data, id.Stamp, 0x504d, 2, code, rva + at - offset, at);
		if (embedded)
			Entry(data, 0, 0x100, 17, (int)packed.Length + 8, rva + at + code - offset, at + code);
		Word(data, 0x53445352); // RSDS
		data.Write(id.Guid.ToByteArray(), 0, 16);
		Word(data, 1);
		for (int i = 0; i < name.Length; i++)
			data.WriteByte((byte)name[i]);
		data.WriteByte(0);
		if (embedded) {
			Word(data, 0x4244504d); // MPDB
			Word(data, pdb.Length);
			data.Write(packed.ToArray(), 0, (int)packed.Length);
		}
		byte[] added = data.ToArray();
		int grown = start + added.Length, end = grown + 511 & ~511;
		byte[] old = image;
		image = new byte[end];
		Buffer.BlockCopy(old, 0, image, 0, start);
		Buffer.BlockCopy(added, 0, image, start, added.Length);
		Put(last + 8, grown - offset);
		Put(last + 16, end - offset);
		Put(optional + 56, rva + (grown - offset) + 0x1fff & ~0x1fff); // SizeOfImage
		Put(optional + 96 + 6 * 8, rva + start - offset);
		Put(optional + 96 + 6 * 8 + 4, directory);
	}

	static void Word(Stream to, int v)
	{
		for (int i = 0; i < 4; i++)
			to.WriteByte((byte)(v >> 8 * i));
	}

	static void Entry(Stream to, uint stamp, int version, int type, int size, int rva, int offset)
	{
		Word(to, 0);
		Word(to, (int)stamp);
		Word(to, 0x100 | version << 16);
		Word(to, type);
		Word(to, size);
		Word(to, rva);
		Word(to, offset);
	}
}
