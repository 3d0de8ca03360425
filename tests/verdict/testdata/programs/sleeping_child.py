# A coroutine waits for a command that sleeps.
import asyncio

async def main():
    p = await asyncio.create_subprocess_exec("sleep", "40", stdout=asyncio.subprocess.PIPE)
    print("ready", flush=True)
    await p.communicate()

asyncio.run(main())
