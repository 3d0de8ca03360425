// Has the sections of a program that .NET compiled ahead of time, and waits in code of the one for methods.
#include <unistd.h>

__attribute__((section("__modules"), used)) static void *modules[1];

__attribute__((section("__managedcode"), noinline)) static void Waits_ForSignal(void)
{
	for (;;)
		pause();
}

int main(void)
{
	Waits_ForSignal();
}
