# A server of AnyIO that has a client, and waits for what that asks.
import anyio

async def answer(stream):
    async with stream:
        async for line in stream:
            await stream.send(line)

async def client(port):
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"get\n")
        await stream.receive()
        print("ready", flush=True)
        await anyio.sleep_forever()

async def main():
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with anyio.create_task_group() as group:
        group.start_soon(listener.serve, answer)
        group.start_soon(client, listener.extra(anyio.abc.SocketAttribute.local_port))

anyio.run(main)
