"""300 generators, or with COROUTINES coroutines, each of which waits for the next; the innermost computes."""
import os


def generator(n):
    if n:
        yield from generator(n - 1)
    print("ready", flush=True)
    while True:
        pass


async def coroutine(n):
    if n:
        await coroutine(n - 1)
    print("ready", flush=True)
    while True:
        pass


if os.environ.get("COROUTINES"):
    coroutine(299).send(None)
else:
    next(generator(299))
