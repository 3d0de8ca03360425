# A blocking call in a coroutine stops the loop.
import asyncio, socket

def request(port):
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(b"GET / HTTP/1.0\r\n\r\n")
    print("ready", flush=True)
    return s.recv(100)  # HERE

async def handler(port):
    return request(port)

async def main():
    await asyncio.gather(handler(int(open("port").read())), asyncio.sleep(1))

asyncio.run(main())
