// Loads first.dll and second.dll in turn, each into a context of its own that is unloaded again, and calls what they
// have. For each line of its standard input it goes on to the next, and writes "first" or "second" when it is there.
//
//   unloaded FOLDER
using System;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

static class Unloaded
{
	class Loose : AssemblyLoadContext
	{
		public Loose() : base("loose", true) { }
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static WeakReference Run(string path, string type, string method, string name)
	{
		var context = new Loose();
		Assembly a = context.LoadFromAssemblyPath(path);
		var call = (Action<Action>)a.GetType(type).GetMethod(method).CreateDelegate(typeof(Action<Action>));
		call(() => {
			Console.WriteLine(name);
			Console.ReadLine();
		});
		context.Unload();
		return new WeakReference(context);
	}

	static void Main(string[] args)
	{
		Console.WriteLine("ready");
		for (int i = 0;; i++) {
			WeakReference gone = i % 2 == 0
				? Run(Path.Combine(args[0], "first.dll"), "Plugins.Earlier", "BeforeAll", "first")
				: Run(Path.Combine(args[0], "second.dll"), "Plugins.Another", "AfterThat", "second");
			for (int k = 0; k < 100 && gone.IsAlive; k++) {
				GC.Collect();
				GC.WaitForPendingFinalizers();
			}
		}
	}
}
