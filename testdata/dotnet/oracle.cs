// Says which place in the IL of a method an instruction belongs to, as the runtime does for stack traces:
//
//   oracle ASSEMBLY...
//
// It prepares the methods of those assemblies and writes "ready". Of each line "METHODDESC ADDRESS" that it reads, in
// hexadecimal numbers, it writes "NATIVE IL": offsets from where the method begins, and in its IL; IL -1 where the
// runtime knows none.
//
// What it asks with is an exception whose stack trace, which the runtime keeps as an array of bytes, is written here.
// Source: struct StackTraceElement in src/coreclr/vm/clrex.h; class StackTraceArray in src/coreclr/vm/object.h.
using System;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

static class Oracle
{
	const BindingFlags Any = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static |
		BindingFlags.DeclaredOnly;
	static readonly char[] space = { ' ' };
	static FieldInfo trace;
	static long thread;

	static int Main(string[] args)
	{
		for (int i = 0; i < args.Length; i++)
			Prepare(Assembly.Load(args[i]));
		trace = typeof(Exception).GetField("_stackTrace", Any);
		var field = typeof(Thread).GetField("_DONT_USE_InternalThread", Any);
		thread = ((IntPtr)field.GetValue(Thread.CurrentThread)).ToInt64();
		Console.WriteLine("ready");
		for (string line; (line = Console.ReadLine()) != null;) {
			string[] words = line.Split(space);
			Console.WriteLine(At(Hex(words[0]), Hex(words[1])));
		}
		return 0;
	}

	static long Hex(string s) { return Convert.ToInt64(s, 16); }

	static string At(long method, long address)
	{
		const long adjusted = 2; // STEF_IP_ADJUSTED: not a return address
		var bytes = new sbyte[16 + 32];
		Buffer.BlockCopy(new long[] { 1, thread, address, 1, method, adjusted }, 0, bytes, 0, bytes.Length);
		var e = new Exception();
		trace.SetValue(e, bytes);
		var frames = new StackTrace(e, false);
		if (frames.FrameCount != 1)
			return "-1 -1";
		StackFrame f = frames.GetFrame(0);
		return f.GetNativeOffset() + " " + f.GetILOffset();
	}

	// Prepare makes the runtime look for the code of each method that is not generic.
	static void Prepare(Assembly assembly)
	{
		foreach (Type t in assembly.GetTypes()) {
			if (t.ContainsGenericParameters)
				continue;
			foreach (MethodInfo m in t.GetMethods(Any))
				Prepare(m);
			foreach (ConstructorInfo c in t.GetConstructors(Any))
				Prepare(c);
		}
	}

	static void Prepare(MethodBase m)
	{
		if (m.IsAbstract || m.ContainsGenericParameters)
			return;
		try {
			RuntimeHelpers.PrepareMethod(m.MethodHandle);
		} catch (Exception) {
			// what this machine or system does not have
		}
	}
}
