import asyncio

async def main():
    print("ready", flush=True)
    while True:
        await asyncio.sleep(0.1)

asyncio.run(main())
