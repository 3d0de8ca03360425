# Eight workers wait for jobs that a server brings.
import queue, socket, threading

jobs = queue.Queue()

def worker():
    while True:
        jobs.get()

for _ in range(8):
    threading.Thread(target=worker, daemon=True).start()
server = socket.create_server(("127.0.0.1", 0))
print("ready", flush=True)
while True:
    jobs.put(server.accept())
