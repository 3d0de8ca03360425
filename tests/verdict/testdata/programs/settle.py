# A coroutine waits for a future that nobody sets, while another sleeps a lot.
import asyncio

async def fetch(reply):
    return await reply  # HERE

async def heartbeat():
    while True:
        await asyncio.sleep(1)

async def main():
    reply = asyncio.get_running_loop().create_future()
    beat = asyncio.create_task(heartbeat())
    print("ready", flush=True)
    await asyncio.gather(fetch(reply))

asyncio.run(main())
