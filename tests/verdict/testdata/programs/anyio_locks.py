# Two tasks of AnyIO take two locks in two orders.
import anyio

async def transfer(one, other, locked, both):
    async with one:
        locked.set()
        await both.wait()
        async with other:  # HERE
            print("done", flush=True)

async def main():
    first, second, a, b = anyio.Lock(), anyio.Lock(), anyio.Event(), anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(transfer, first, second, a, b)
        group.start_soon(transfer, second, first, b, a)
        await anyio.sleep(0.1)
        print("ready", flush=True)

anyio.run(main)
