# Idle threads of an executor, and a main loop that waits for standard input of a user's job control, a socket.
import concurrent.futures, selectors, socket

pool = concurrent.futures.ThreadPoolExecutor(4)
for f in [pool.submit(sum, range(10)) for _ in range(20)]:
    f.result()
server = socket.create_server(("127.0.0.1", 0))
select = selectors.DefaultSelector()
select.register(server, selectors.EVENT_READ)
print("ready", flush=True)
select.select()
