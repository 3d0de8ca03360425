# A request of AnyIO to a server that does not answer, in a group of tasks beside one that sleeps a lot.
import anyio

async def request(port):
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"get\n")
        print("ready", flush=True)
        return await stream.receive()  # HERE

async def heartbeat():
    while True:
        await anyio.sleep(1)

async def main():
    async with anyio.create_task_group() as group:
        group.start_soon(heartbeat)
        group.start_soon(request, int(open("port").read()))

anyio.run(main)
