// Async methods that wait, N of each chain; beside them N that have ended.
//
//   waiting N
//
// It writes "ready" when all wait, and its standard input decides how long it lives. The line that a method waits at
// has its name behind it.
using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Waiting
{
	class Cache<T>
	{
		public async Task<T> Get(Task<T> source)
		{
			return await source.ConfigureAwait(false); // Get
		}
	}

	class Program
	{
		static readonly TaskCompletionSource<int> never = new TaskCompletionSource<int>();
		static readonly TaskCompletionSource<string> text = new TaskCompletionSource<string>();
		static readonly SemaphoreSlim taken = new SemaphoreSlim(0);

		static async Task Handle(int i)
		{
			if (i < 0)
				await Task.Yield();
			await Load(i); // Handle
		}

		static async Task<int> Load(int i)
		{
			int n = await Fetch(i); // Load
			return n + 1;
		}

		static async Task<int> Fetch(int i)
		{
			await Task.CompletedTask;
			int n = await never.Task; // Fetch
			return n + i;
		}

		static async Task Sleeps()
		{
			await Task.Delay(100000000); // Sleeps
		}

		static async Task Locks()
		{
			await taken.WaitAsync(); // Locks
		}

		static async Task Both()
		{
			await Task.WhenAll(Sleeps(), Locks()); // Both
		}

		static async Task Generic()
		{
			await new Cache<string>().Get(text.Task); // Generic
		}

		static async Task<decimal> Wide()
		{
			await never.Task; // Wide
			return 1;
		}

		static async Task Ended()
		{
			await Task.Yield();
		}

		public static void Main(string[] args)
		{
			int n = int.Parse(args[0]);
			var all = new List<Task>();
			var ended = new List<Task>();
			for (int i = 0; i < n; i++)
			{
				all.Add(Handle(i));
				all.Add(Both());
				all.Add(Generic());
				all.Add(Wide());
				ended.Add(Ended());
			}
			Task.WhenAll(ended).Wait();
			Console.WriteLine("ready");
			Console.Out.Flush();
			Console.In.ReadToEnd();
			GC.KeepAlive(all);
			GC.KeepAlive(ended);
		}
	}
}
