# Tasks wait for a Lock of asyncio that a task has which began after them: it waits for an answer that never comes, or
# sleeps ("sleeps"). "forgotten": the task that had it has ended.
import asyncio
import sys

async def refill(lock, answer):
    async with lock:
        while sys.argv[1] == "sleeps":
            await asyncio.sleep(40)
        await answer  # HERE

async def forget(lock):
    await lock.acquire()

async def checkout(lock, held):
    await held.wait()
    async with lock:  # HERE too, where nobody has it
        pass

async def main():
    lock, held = asyncio.Lock(), asyncio.Event()
    tasks = [asyncio.create_task(checkout(lock, held)) for _ in range(5)]
    if sys.argv[1] == "forgotten":
        await forget(lock)
    else:
        tasks.append(asyncio.create_task(refill(lock, asyncio.get_running_loop().create_future())))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    held.set()
    await asyncio.sleep(0.01)
    print("ready", flush=True)
    await asyncio.gather(*tasks)

asyncio.run(main())
