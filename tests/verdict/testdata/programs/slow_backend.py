# Computes for a long time before it answers.
import hashlib, json, os, socket

def answer():
    for i in range(10**9):
        text = json.dumps(list(range(i % 5000)))
        hashlib.sha1(text.encode()).hexdigest()
        sorted(text)

server = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as f:
    f.write(str(server.getsockname()[1]))
os.rename("port.new", "port")
while True:
    c, _ = server.accept()
    c.recv(1000)
    answer()
