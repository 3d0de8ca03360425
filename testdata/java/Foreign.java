import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** Calls C by the foreign function interface, which calls back: qsort with a method that compares; and sleeps in C. */
public class Foreign {
	static final int COUNT = 64;
	static long sink;

	static int compare(MemorySegment a, MemorySegment b) {
		return spin(a.get(ValueLayout.JAVA_INT, 0), b.get(ValueLayout.JAVA_INT, 0));
	}

	static int spin(int a, int b) {
		long z = 0;
		for (int i = 0; i < 3000; i++) {
			z = z * 31 + i;
		}
		sink += z;
		return Integer.compare(a, b);
	}

	static void sort(MethodHandle qsort, MemorySegment array, MemorySegment compare) throws Throwable {
		qsort.invokeExact(array, (long) COUNT, 4L, compare);
	}

	static void nap(MethodHandle usleep) throws Throwable {
		int failed = (int) usleep.invokeExact(300);
	}

	static void rounds(MethodHandle qsort, MethodHandle usleep, MemorySegment compare) throws Throwable {
		try (Arena arena = Arena.ofConfined()) {
			MemorySegment array = arena.allocate(COUNT * 4);
			for (int i = 0; i < COUNT; i++) {
				array.setAtIndex(ValueLayout.JAVA_INT, i, (i * 7919) % 101);
			}
			sort(qsort, array, compare);
			nap(usleep);
		}
	}

	public static void main(String[] args) throws Throwable {
		Linker linker = Linker.nativeLinker();
		SymbolLookup libc = linker.defaultLookup();
		AddressLayout pointer = ValueLayout.ADDRESS.withTargetLayout(ValueLayout.JAVA_INT);
		MethodHandle qsort = linker.downcallHandle(libc.find("qsort").get(), FunctionDescriptor.ofVoid(
			ValueLayout.ADDRESS, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
		MethodHandle usleep = linker.downcallHandle(libc.find("usleep").get(),
			FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
		MethodHandle compare = MethodHandles.lookup().findStatic(Foreign.class, "compare",
			MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class));
		MemorySegment stub = linker.upcallStub(compare,
			FunctionDescriptor.of(ValueLayout.JAVA_INT, pointer, pointer), Arena.global());
		System.out.println("ready");
		for (;;) {
			rounds(qsort, usleep, stub);
		}
	}
}
