# Accepts connections, reads what comes, and never answers.
import os, socket, threading

server = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as f:
    f.write(str(server.getsockname()[1]))
with open("culprit", "a") as f:
    f.write(f"{os.getpid()} ")
os.rename("port.new", "port")

def ignore(c):
    while c.recv(1000):  # HERE
        pass

while True:
    threading.Thread(target=ignore, args=(server.accept()[0],)).start()
