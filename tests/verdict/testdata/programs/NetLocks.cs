// Two monitors in two orders.
using System;
using System.Threading;

static class Locks
{
	static readonly object first = new object(), second = new object();
	static int taken;

	static void Transfer(object from, object to)
	{
		lock (from) {
			Interlocked.Increment(ref taken);
			while (Volatile.Read(ref taken) < 2)
				Thread.Sleep(1);
			lock (to) {
				Console.WriteLine("done");
			}
		}
	}

	static void Main()
	{
		var one = new Thread(() => Transfer(first, second));
		var other = new Thread(() => Transfer(second, first));
		one.Start();
		other.Start();
		while (Volatile.Read(ref taken) < 2)
			Thread.Sleep(1);
		Thread.Sleep(300);
		Console.WriteLine("ready");
		one.Join();
		other.Join();
	}
}
