// Threads whose managed stacks are known, one for each shape of code; each thread is called by its shape.
//
//   shapes [SHAPE...]
//
// Without a shape all but those that are null in the table, and "busy". When all have arrived it writes "ready" and its
// standard input decides how long it lives. Threads rest in Gate.Rest, those of "busy" run in Gate.Spin.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Shapes
{
	static class Gate
	{
		public static volatile bool Open;
		static readonly CountdownEvent arriving = new CountdownEvent(1);

		public static void Expect() { arriving.AddCount(); }

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Rest()
		{
			arriving.Signal();
			Thread.Sleep(Timeout.Infinite);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static long Spin()
		{
			arriving.Signal();
			long n = 0;
			while (!Open)
				n++;
			return n;
		}

		public static void Arrived() { arriving.Signal(); }

		public static void WaitForAll()
		{
			arriving.Signal();
			arriving.Wait();
		}
	}

	class Box<T>
	{
		public class Inner<U>
		{
			[MethodImpl(MethodImplOptions.NoInlining)]
			public void Hold<V>(T t, U u, V v) { Gate.Rest(); }
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Keep(T t) { new Inner<string>().Hold<double>(t, "", 1); }
	}

	struct Money
	{
		public long Cents;

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static Money operator +(Money a, Money b)
		{
			Gate.Rest(); // operator
			return new Money { Cents = a.Cents + b.Cents };
		}
	}

	interface IPlace { int Where { get; } }

	class Place : IPlace, IDisposable
	{
		int IPlace.Where
		{
			[MethodImpl(MethodImplOptions.NoInlining)]
			get { return this[3]; }
		}

		int this[int i]
		{
			[MethodImpl(MethodImplOptions.NoInlining)]
			get
			{
				((IDisposable)this).Dispose();
				return i;
			}
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		void IDisposable.Dispose() { Gate.Rest(); }
	}

	class Worker<T>
	{
		public async Task<int> RunAsync<U>(U u)
		{
			await Task.Yield();
			Gate.Rest(); // async
			return u.GetHashCode();
		}

		public IEnumerable<U> Items<U>(U u)
		{
			Gate.Rest(); // iterator
			yield return u;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public void Lambda(int n)
		{
			Action inner = () => { Gate.Rest(); n++; };
			Action outer = () => { inner(); n++; };
			outer();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public void AsyncLambda()
		{
			Func<Task> f = async () => { await Task.Yield(); Gate.Rest(); };
			f().Wait();
		}
	}

	static class Thrower
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Throw() { throw new InvalidOperationException("known"); }

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Catch()
		{
			try {
				Throw(); // catch
			} catch (InvalidOperationException) {
				Gate.Rest(); // catch
			}
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Finally()
		{
			try {
				try {
					Throw(); // finally
				} finally {
					Gate.Rest(); // finally
				}
			} catch (InvalidOperationException) {
			}
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static bool Resting()
		{
			Gate.Rest(); // filter
			return true;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Filter()
		{
			try {
				Throw(); // filter
			} catch (InvalidOperationException) when (Resting()) {
			}
		}
	}

	static class Native
	{
		delegate int Comparison(IntPtr a, IntPtr b);

		[DllImport("libc")]
		static extern void qsort(int[] all, IntPtr n, IntPtr size, Comparison c);

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Compare(IntPtr a, IntPtr b)
		{
			Gate.Rest(); // callback
			return 0;
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Sort() { qsort(new int[2], (IntPtr)2, (IntPtr)4, Compare); }
	}

	static class Made
	{
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Dynamic()
		{
			var m = new DynamicMethod("made_at_run_time", typeof(void), new Type[0], typeof(Made).Module);
			ILGenerator il = m.GetILGenerator();
			for (int i = 0; i < 2; i++) // the last call is made by a jump
				il.Emit(OpCodes.Call, typeof(Gate).GetMethod("Rest"));
			il.Emit(OpCodes.Ret);
			((Action)m.CreateDelegate(typeof(Action)))();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Reflected() { typeof(Gate).GetMethod("Rest").Invoke(null, null); }

		static int left;

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Visited()
		{
			if (left-- == 0)
				Gate.Rest(); // often
		}

		// A method that is called by reflection several times gets a dynamic method that calls it.
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void ReflectedOften()
		{
			MethodInfo m = typeof(Made).GetMethod("Visited");
			left = 10;
			for (int i = 0; i <= 10; i++)
				m.Invoke(null, null);
		}
	}

	static class Locks
	{
		static readonly object first = new object(), second = new object();
		static readonly CountdownEvent both = new CountdownEvent(2);

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void FirstThenSecond() { Take(first, second); }

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void SecondThenFirst() { Take(second, first); }

		[MethodImpl(MethodImplOptions.NoInlining)]
		static void Take(object a, object b)
		{
			lock (a) {
				both.Signal();
				both.Wait();
				Gate.Arrived();
				lock (b) {
				}
			}
		}
	}

	// A lock of a type that this compiler does not know; one thread has it, and others want it.
	class Held
	{
		readonly Action enter, second;
		readonly ManualResetEvent held = new ManualResetEvent(false);

		// type is one of System.Threading; enter is the method by which it is taken, second by which the others want it.
		public Held(string type, string enter, string second)
		{
			object o = Activator.CreateInstance(Type.GetType("System.Threading." + type));
			this.enter = (Action)Delegate.CreateDelegate(typeof(Action), o, enter);
			this.second = (Action)Delegate.CreateDelegate(typeof(Action), o, second);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public void Hold()
		{
			enter();
			held.Set();
			Gate.Rest();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public void Want()
		{
			held.WaitOne();
			Gate.Arrived();
			second();
		}

		public static void Start(string type, string enter, string second)
		{
			var h = new Held(type, enter, second);
			Program.Start("holder", h.Hold);
			Program.Start("wanter", h.Want);
			Program.Start("wanter", h.Want);
		}
	}

	static class Waits
	{
		static readonly Task never = new TaskCompletionSource<int>().Task;

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void ForTask()
		{
			Gate.Arrived();
			never.Wait();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void ForSemaphore()
		{
			Gate.Arrived();
			new SemaphoreSlim(0).Wait();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void ForEvent()
		{
			Gate.Arrived();
			new ManualResetEventSlim(false).Wait();
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void ForHandle()
		{
			Gate.Arrived();
			new AutoResetEvent(false).WaitOne(Timeout.Infinite);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void ForPulse()
		{
			object o = new object();
			lock (o) {
				Gate.Arrived();
				Monitor.Wait(o);
			}
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void ForThread()
		{
			var t = new Thread(() => Thread.Sleep(Timeout.Infinite), 256 << 10) { Name = "joined", IsBackground = true };
			t.Start();
			Gate.Arrived();
			t.Join();
		}

		// Its name says what it is called.
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Named()
		{
			Thread t = Thread.CurrentThread;
			t.Name = "named: thread number " + t.ManagedThreadId + " \u00e4\ud83d\ude00";
			Gate.Rest();
		}
	}

	// Threads that the garbage collector stops all the time: it replaces the return address of a method that runs.
	static class Collected
	{
		public static volatile int Kept;
		// To write "ready" takes a minute beside the collector.
		public static volatile bool Begun;

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Leaf(int n) { return (n * 7 + Kept) ^ (n >> 3); }

		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Branch(int n, int depth)
		{
			if (depth == 0)
				return Leaf(n) + Leaf(n + 1);
			return Branch(n + 1, depth - 1) + Branch(n + 2, depth - 1);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Run()
		{
			Gate.Arrived();
			while (!Gate.Open)
				Kept += Branch(Kept, 12);
		}

		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void Collect()
		{
			Gate.Arrived();
			while (!Begun)
				Thread.Sleep(1);
			while (!Gate.Open)
				GC.Collect(0);
		}
	}

	static class Program
	{
		static readonly Dictionary<string, Action> shapes = new Dictionary<string, Action> {
			{ "generic", () => Box<int>.Keep(1) },
			{ "shared", () => Box<string>.Keep("") },
			{ "array", () => Box<Dictionary<string, int[]>[,]>.Keep(null) },
			{ "tuple", () => Box<ValueTuple<int, DateTime?>>.Keep(default(ValueTuple<int, DateTime?>)) },
			{ "operator", () => Console.Write((new Money() + new Money()).Cents) },
			{ "explicit", () => Console.Write(((IPlace)new Place()).Where) },
			{ "async", () => new Worker<int>().RunAsync("x").Wait() },
			{ "iterator", () => ((IEnumerable)new Worker<int>().Items(2L)).GetEnumerator().MoveNext() },
			{ "lambda", () => new Worker<int>().Lambda(1) },
			{ "asynclambda", () => new Worker<int>().AsyncLambda() },
			{ "catch", Thrower.Catch },
			{ "finally", Thrower.Finally },
			{ "filter", Thrower.Filter },
			{ "callback", Native.Sort },
			{ "dynamic", Made.Dynamic },
			{ "reflected", Made.Reflected },
			{ "reflectedoften", Made.ReflectedOften },
			{ "task", Waits.ForTask },
			{ "semaphore", Waits.ForSemaphore },
			{ "event", Waits.ForEvent },
			{ "handle", Waits.ForHandle },
			{ "pulse", Waits.ForPulse },
			{ "join", Waits.ForThread },
			{ "named", Waits.Named },
			{ "busy", () => Gate.Spin() },
			{ "collected", null },
			{ "deadlock", null },
			{ "lock", null },
			{ "writer", null },
			{ "reader", null },
			{ "upgrader", null },
			{ "many", null },
		};

		public static void Start(string name, Action body)
		{
			Gate.Expect();
			var t = new Thread(() => body(), 256 << 10) { IsBackground = true };
			if (name != "named")
				t.Name = name;
			t.Start();
		}

		static void StartShape(string shape)
		{
			switch (shape) {
			case "deadlock":
				Start("deadlock", Locks.FirstThenSecond);
				Start("deadlock", Locks.SecondThenFirst);
				break;
			case "lock":
				Held.Start("Lock", "Enter", "Enter");
				break;
			case "writer":
				Held.Start("ReaderWriterLockSlim", "EnterWriteLock", "EnterReadLock");
				break;
			case "reader":
				Held.Start("ReaderWriterLockSlim", "EnterReadLock", "EnterWriteLock");
				break;
			case "upgrader":
				Held.Start("ReaderWriterLockSlim", "EnterUpgradeableReadLock", "EnterUpgradeableReadLock");
				break;
			case "collected":
				for (int i = 0; i < 2; i++)
					Start("collected", Collected.Run);
				Start("collector", Collected.Collect);
				break;
			case "many":
				for (int i = 0; i < 200; i++)
					Start("many", () => Box<int>.Keep(1));
				break;
			default:
				Start(shape, shapes[shape]);
				break;
			}
		}

		static void Main(string[] args)
		{
			if (args.Length > 0) {
				foreach (string shape in args)
					StartShape(shape);
			} else {
				foreach (string shape in shapes.Keys)
					if (shape != "busy" && shapes[shape] != null)
						StartShape(shape);
			}
			Gate.WaitForAll();
			Console.WriteLine("ready");
			Collected.Begun = true;
			Console.ReadLine();
			Gate.Open = true;
			Environment.Exit(0);
		}
	}
}
