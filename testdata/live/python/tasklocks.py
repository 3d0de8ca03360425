# Tasks wait for Locks of asyncio that others have: by a block of their own, by one of a caller, by a call of acquire,
# after a time, and each other's.
import asyncio


async def keeps(lock, answer):
    async with lock:
        await answer


async def inner(answer):
    await answer


async def keeps_above(lock, answer):
    async with lock:
        async with asyncio.Lock():
            await inner(answer)


async def calls(lock, answer):
    await lock.acquire()
    await answer


async def kept_before(lock, answer):
    async with lock:
        leave = lock.__aexit__
        del leave
    await answer


async def wants(lock):
    async with lock:
        pass


async def acquires(lock):
    await lock.acquire()


async def limited(lock):
    await asyncio.wait_for(wants(lock), 10_000)


async def limited_inside(lock):
    async with Limit(10_000):
        async with lock:
            pass


async def unlimited(lock):
    async with Limit(None):
        async with lock:
            pass


class Timeout:
    """As that of asyncio, from 3.11 on."""

    def __init__(self, when):
        self._when = when

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        pass


Limit = getattr(asyncio, "timeout", Timeout)


async def crossed(first, second):
    async with first:
        await asyncio.sleep(0)
        async with second:
            pass


async def again(lock):
    async with lock:
        async with lock:
            pass


async def main():
    answer = asyncio.get_running_loop().create_future()
    lock = [asyncio.Lock() for _ in range(8)]
    full = asyncio.Semaphore(0)
    plan = [("keeps", keeps(lock[0], answer)), ("keeps-above", keeps_above(lock[1], answer)),
            ("calls", calls(lock[2], answer)), ("kept-before", kept_before(lock[3], answer)),
            ("wants-0", wants(lock[0])), ("acquires-0", acquires(lock[0])), ("wants-1", wants(lock[1])),
            ("wants-2", wants(lock[2])), ("limited", limited(lock[0])),
            ("limited-inside", limited_inside(lock[0])), ("unlimited", unlimited(lock[0])),
            ("one", crossed(lock[4], lock[5])), ("other", crossed(lock[5], lock[4])), ("again", again(lock[6])),
            ("wants-full", wants(full))]
    tasks = []
    for name, one in plan:
        task = asyncio.get_running_loop().create_task(one)
        task.set_name(name)
        tasks.append(task)
    for _ in range(5):
        await asyncio.sleep(0)
    print("ready", flush=True)
    await asyncio.gather(*tasks)


asyncio.run(main())
