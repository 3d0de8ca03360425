// A thread runs through a fixed chain of calls, again and again: at any moment its methods here are the first ones of
// that chain, whatever it does in the runtime or in a library then. Each calls the next in another way; some do so from
// a funclet, with a large frame, or through precompiled code.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Known
{
	interface IStep
	{
		int ByInterface(int n);
	}

	abstract class Base
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public abstract int ByTable(int n);
	}

	class Step : Base, IStep, IEqualityComparer<string>
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public override int ByTable(int n)
		{
			int sum = 0;
			for (int i = 0; i < 3; i++)
				sum += Chain.Interface.ByInterface(n + i) + 1;
			return sum;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public int ByInterface(int n)
		{
			return Pair<string>.Shared<int>(n, "", 1.5) + 1;
		}

		// The dictionary that calls it is precompiled.
		[MethodImpl(MethodImplOptions.NoInlining)]
		public int GetHashCode(string s)
		{
			return Chain.Numbers(s.Length, 1.5, 2.5f) + 1;
		}

		public bool Equals(string a, string b) { return ReferenceEquals(a, b); }
	}

	static class Pair<T>
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static int Shared<U>(int n, T t, double d)
		{
			int sum = (int)d;
			try {
				sum += n;
			} finally {
				sum += Chain.Delegate(n) + 1;
			}
			return sum;
		}
	}

	struct Large
	{
		public long A, B, C, D, E, F, G, H;
	}

	struct Larger
	{
		public Large A, B, C, D, E, F, G, H;
	}

	struct Largest
	{
		public Larger A, B, C, D, E, F, G, H;
	}

	static class Chain
	{
		public static readonly Step Own = new Step();
		public static readonly Base Table = Own;
		public static readonly IStep Interface = Own;
		public static readonly Func<int, int> Delegate = Sorting;
		static readonly Dictionary<string, int> counted = new Dictionary<string, int>(Own);
		static readonly string[] keys = { "a", "bb", "ccc", "dddd", "eeeee" };
		public static volatile int Kept;

		// It is compiled again while it runs.
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Run()
		{
			while (true)
				Kept += First(Kept & 15) + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int First(int n)
		{
			return Table.ByTable(n) + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Sorting(int n)
		{
			var all = new string[4];
			for (int i = 0; i < all.Length; i++)
				all[i] = keys[(i + n) % keys.Length];
			Array.Sort(all, Compare);
			return all[0].Length;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Compare(string a, string b)
		{
			return Caught(a.Length - b.Length) & 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Caught(int n)
		{
			if (Kept % 64 != 0)
				return OnStack(n) + 1;
			try {
				Throw();
			} catch (InvalidOperationException) {
				n += OnStack(n);
			}
			return n + 1;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Throw() { throw new InvalidOperationException("known"); }

		[MethodImpl(MethodImplOptions.NoInlining)]
		static unsafe int OnStack(int n)
		{
			int* some = stackalloc int[16 + (n & 63)];
			some[n & 15] = n;
			return Wide(n, 1, 2, 3, 4, 5, 6, 7, 8, 9) + some[n & 15];
		}

		// Arguments are on the stack, and its frame has many pages.
		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Wide(int a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
		{
			var l = default(Largest);
			l.A.B.C = a + b + c + d + e + f + g + h + i + j;
			return Narrow(a) + (int)Fold(ref l);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static long Fold(ref Largest l) { return l.A.B.C + l.H.H.H; }

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Narrow(int n)
		{
			int found;
			counted.TryGetValue(keys[(n & 7) % keys.Length], out found);
			return found + n;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static int Numbers(int n, double d, float f)
		{
			double sum = 0;
			for (int i = 0; i < 4; i++)
				sum += d * Last(n + i, f) + i;
			return (int)sum;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static double Last(int n, float f)
		{
			return n * f + Kept;
		}
	}

	static class Program
	{
		// With an argument it is the first thread, and says nothing: runtimes that were trimmed can do neither.
		static void Main(string[] arguments)
		{
			if (arguments.Length == 0)
				Start();
			else
				Chain.Run();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Start()
		{
			new Thread(Chain.Run, 1 << 20) { Name = "known", IsBackground = true }.Start();
			Console.Write("ready\n");
			Thread.Sleep(Timeout.Infinite);
		}
	}
}
