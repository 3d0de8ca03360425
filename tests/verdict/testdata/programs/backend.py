# Accepts connections, reads a request, and waits for a lock that it has.
import os, socket, threading

rows = threading.Lock()

def query():
    with rows:
        with rows:  # HERE
            return b"1"

server = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as f:
    f.write(str(server.getsockname()[1]))
os.rename("port.new", "port")
print(server.getsockname()[1], flush=True)
while True:
    c, _ = server.accept()
    c.recv(1000)
    c.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + query())
    c.close()
