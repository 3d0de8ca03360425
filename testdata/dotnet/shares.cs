// Says how much CPU time four of its methods took, by the clock of its thread: a loop, a copy, objects, exceptions. It
// writes by the C library: runtimes that were trimmed have no console.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

static unsafe class Shares
{
	const int Monotonic = 1, ThreadTime = 3; // linux/time.h

	[DllImport("libc")]
	static extern int clock_gettime(int clock, long* time);

	[DllImport("libc")]
	static extern long write(int file, byte* text, long length);

	static readonly byte[] from = new byte[1 << 16], to = new byte[1 << 16];
	static long sink;

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Numbers()
	{
		long x = sink;
		for (int i = 0; i < 100000; i++)
			x = x * 31 + (x >> 7) + i;
		sink = x;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Copies()
	{
		for (int i = 0; i < 40; i++) {
			Array.Copy(from, i, to, 0, from.Length - i);
			sink += to[i];
		}
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Objects()
	{
		var some = new object[400];
		for (int i = 0; i < some.Length; i++)
			some[i] = new long[i & 63];
		sink += some.Length;
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static void Failures()
	{
		for (int i = 0; i < 5; i++) {
			try {
				throw new InvalidOperationException("shares");
			} catch (InvalidOperationException) {
				sink++;
			}
		}
	}

	static long Now(int clock)
	{
		long* time = stackalloc long[2];
		clock_gettime(clock, time);
		return time[0] * 1000000000 + time[1];
	}

	static int Put(byte* line, int at, string text)
	{
		foreach (char c in text)
			line[at++] = (byte)c;
		return at;
	}

	static int Put(byte* line, int at, long number)
	{
		long unit = 1;
		while (number / unit >= 10)
			unit *= 10;
		for (; unit > 0; unit /= 10)
			line[at++] = (byte)('0' + number / unit % 10);
		return at;
	}

	static void Main()
	{
		byte* line = stackalloc byte[300];
		long numbers = 0, copies = 0, objects = 0, failures = 0, said = Now(Monotonic);
		for (;;) {
			long a = Now(ThreadTime);
			Numbers();
			long b = Now(ThreadTime);
			Copies();
			long c = Now(ThreadTime);
			Objects();
			long d = Now(ThreadTime);
			Failures();
			long e = Now(ThreadTime);
			numbers += b - a;
			copies += c - b;
			objects += d - c;
			failures += e - d;
			if (Now(Monotonic) - said < 250000000)
				continue;
			said = Now(Monotonic);
			int n = Put(line, Put(line, 0, "shares Shares.Numbers "), numbers);
			n = Put(line, Put(line, n, " Shares.Copies "), copies);
			n = Put(line, Put(line, n, " Shares.Objects "), objects);
			n = Put(line, Put(line, n, " Shares.Failures "), failures);
			write(1, line, Put(line, n, "\n"));
		}
	}
}
