"""Tasks, a lock of theirs, greenlets, local variables and two threads that want the GIL, for a snapshot that is kept."""
import asyncio
import threading

try:
    import greenlet
except ImportError:
    greenlet = None


def parks(main):
    main.switch()


def spins():
    number, text, pair = 42, "abc", (1, None)
    while number:
        number ^= 64
    return text, pair


async def leaf(future):
    await future


async def middle(future):
    await leaf(future)


async def keeps(lock, future):
    async with lock:
        await middle(future)


async def wants(lock):
    async with lock:
        pass


async def runs():
    spins()


async def main():
    future = asyncio.get_running_loop().create_future()
    lock = asyncio.Lock()
    kept = [asyncio.create_task(one, name=name) for name, one in (("first", keeps(lock, future)),
                                                                  ("second", middle(future)), ("third", wants(lock)))]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    print("ready", flush=True)
    await asyncio.create_task(runs(), name="runs")
    return kept


if greenlet:
    parked = [greenlet.greenlet(parks) for _ in range(2)]
    for g in parked:
        g.switch(greenlet.getcurrent())
threading.Thread(target=spins, daemon=True, name="other").start()
asyncio.run(main())
