// Two threads that wait for each other's monitor, and one for a task. It is put in the place of the program of a single
// file, whose libraries are cut to what that program calls: it uses little.
using System.Threading;
using System.Threading.Tasks;

static class Bundled
{
	static readonly object first = new object(), second = new object();
	static int holding;

	static void Take(object a, object b)
	{
		lock (a) {
			Interlocked.Increment(ref holding);
			while (Volatile.Read(ref holding) < 2)
				Thread.Sleep(1);
			lock (b) {
			}
		}
	}

	static void FirstThenSecond() { Take(first, second); }

	static void SecondThenFirst() { Take(second, first); }

	static void ForTask() { new TaskCompletionSource<int>().Task.Wait(); }

	static void Start(string name, ThreadStart body)
	{
		var t = new Thread(body);
		t.IsBackground = true;
		t.Name = name;
		t.Start();
	}

	static int Main()
	{
		Start("deadlock", FirstThenSecond);
		Start("deadlock", SecondThenFirst);
		Start("a task that never ends", ForTask);
		Thread.Sleep(Timeout.Infinite);
		return 0;
	}
}
