# asyncio wakes itself by a socket pair when a signal comes.
import asyncio, signal

async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    print("ready", flush=True)
    await stop.wait()

asyncio.run(main())
