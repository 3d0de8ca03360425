// Async methods that wait, N of each chain; beside them N that have ended.
//
//   waiting N [moved | churn]
//
// With moved the garbage collector has moved them, with churn it does all the time, and others begin and end.
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

		static async Task Churner(Task on)
		{
			await Churned(on); // Churner
		}

		static async Task Churned(Task on)
		{
			await on; // Churned
		}

		static void Churn()
		{
			var garbage = new object[1000];
			for (int i = 0;; i++)
			{
				var on = new TaskCompletionSource<int>();
				var some = new List<Task>();
				for (int k = 0; k < 20; k++)
				{
					some.Add(Churner(on.Task));
					garbage[(i * 20 + k) % garbage.Length] = new byte[i % 500];
				}
				if (i % 3 == 0)
					GC.Collect(2, GCCollectionMode.Forced, true, true);
				Thread.Sleep(i % 8);
				on.SetResult(0);
				Task.WhenAll(some).Wait();
			}
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
			if (args.Length > 1 && args[1] != "")
				for (int i = 0; i < 3; i++)
					GC.Collect(2, GCCollectionMode.Forced, true, true);
			if (args.Length > 1 && args[1] == "churn")
				new Thread(Churn) { IsBackground = true }.Start();
			Console.WriteLine("ready");
			Console.Out.Flush();
			Console.In.ReadToEnd();
			GC.KeepAlive(all);
			GC.KeepAlive(ended);
		}
	}
}
