"""Tasks of asyncio that wait in known chains, by their names; the task "blocker" runs when BLOCK is given."""
import asyncio
import os
import sys
import threading
import time


class Awaitable:
    def __init__(self, future):
        self.future = future

    def __await__(self):
        return (yield from self.future.__await__())


async def leaf(event):
    await event.wait()


async def middle(event):
    await leaf(event)


async def top(event):
    await middle(event)


async def numbers(event):
    yield 1
    await leaf(event)
    yield 2


async def iterates(event):
    async for _ in numbers(event):
        pass


async def waits_for(task):
    await task


async def by_object(future):
    await Awaitable(future)


async def gathers(event):
    await asyncio.gather(named(leaf(event), "gathered-1"), named(leaf(event), "gathered-2"))


async def shields(event):
    await asyncio.shield(named(leaf(event), "shielded"))


async def waits(event):
    await asyncio.wait([named(leaf(event), "waited")])


async def groups(event):
    async with asyncio.TaskGroup() as group:
        group.create_task(leaf(event), name="grouped-1")
        group.create_task(leaf(event), name="grouped-2")


async def sleeps():
    await asyncio.sleep(1000)


async def done():
    pass


async def blocks():
    await asyncio.sleep(0.05)
    blocked()


def blocked():
    print("ready", flush=True)
    time.sleep(1000)


def named(coroutine, name):
    return asyncio.get_running_loop().create_task(coroutine, name=name)


class PythonTask(asyncio.tasks._PyTask):
    pass


async def main():
    loop = asyncio.get_running_loop()
    asyncio.current_task().set_name("main")
    event, future = asyncio.Event(), loop.create_future()
    alpha = named(top(event), "alpha")
    keep = [alpha, named(waits_for(alpha), "waiter"), named(iterates(event), "iterator"),
            named(by_object(future), "by-object"), named(gathers(event), "gatherer"), named(sleeps(), "sleeper"),
            named(shields(event), "shielder"), named(waits(event), "wait"), named(done(), "done-日本"),
            PythonTask(top(event), loop=loop, name="of-python")]
    if sys.version_info >= (3, 11):
        keep.append(named(groups(event), "group"))
    for n in range(int(os.environ.get("MANY", "0"))):
        keep.append(loop.create_task(middle(event)))
    if sys.version_info >= (3, 12) and os.environ.get("EAGER"):
        loop.set_task_factory(asyncio.eager_task_factory)
        keep.append(loop.create_task(top(event), name="eager"))
    if os.environ.get("BLOCK"):
        keep.append(named(blocks(), "blocker"))
    else:
        loop.call_later(0.05, lambda: print("ready", flush=True))
    await asyncio.sleep(1000)
    del keep


def other(begun):
    async def lonely():
        asyncio.current_task().set_name("lonely")
        begun.set()
        await asyncio.sleep(1000)

    asyncio.run(lonely())


if os.environ.get("TWO"):
    begun = threading.Event()
    threading.Thread(target=other, name="other-loop", args=(begun,), daemon=True).start()
    begun.wait()
asyncio.run(main())
