# Sends 2 kB in a second.
import os, socket, time

server = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as f:
    f.write(str(server.getsockname()[1]))
os.rename("port.new", "port")
while True:
    c, _ = server.accept()
    c.recv(1000)
    c.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 100000000\r\n\r\n")
    while True:
        c.sendall(b"x" * 500)
        time.sleep(0.25)
