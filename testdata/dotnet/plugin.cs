// An assembly that is loaded and unloaded again by unloaded.cs: it is compiled twice, with FIRST and without.
using System;
using System.Runtime.CompilerServices;

namespace Plugins
{
#if FIRST
	public static class Earlier
#else
	public static class Another
#endif
	{
		static int calls;

#if FIRST
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void BeforeAll(Action pause)
#else
		[MethodImpl(MethodImplOptions.NoInlining)]
		public static void AfterThat(Action pause)
#endif
		{
			pause();
			calls++;
		}
	}
}
