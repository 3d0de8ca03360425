// An async method waits for what nobody sets.
using System;
using System.Threading.Tasks;

static class Never
{
	static readonly TaskCompletionSource<int> reply = new TaskCompletionSource<int>();

	static async Task<int> FetchRow(int id)
	{
		await Task.Yield();
		return id + await reply.Task;
	}

	static async Task<int> LoadOrder(int id)
	{
		return await FetchRow(id) + 1;
	}

	static async Task Checkout()
	{
		Console.WriteLine(await LoadOrder(7));
	}

	static void Main()
	{
		Task all = Checkout();
		Console.WriteLine("ready");
		all.Wait();
	}
}
