# Two tasks of asyncio take two Locks in two orders. "limited": for 25 s at most, and then again.
import asyncio
import sys


async def transfer(one, other, both):
    async with one:
        await both.wait()
        async with other:  # HERE
            pass


async def again(one, other, both):
    while True:
        try:
            await asyncio.wait_for(transfer(one, other, both), 25)
        except asyncio.TimeoutError:
            pass


async def main():
    first, second, both = asyncio.Lock(), asyncio.Lock(), asyncio.Event()
    run = again if sys.argv[1:] == ["limited"] else transfer
    tasks = [asyncio.create_task(run(first, second, both)), asyncio.create_task(run(second, first, both))]
    await asyncio.sleep(0.01)
    both.set()
    await asyncio.sleep(0.01)
    print("ready", flush=True)
    await asyncio.gather(*tasks)


asyncio.run(main())
