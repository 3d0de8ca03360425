import os, socket

def fetch_report(port):
    s = socket.create_connection(("127.0.0.1", port))
    with open("culprit", "a") as f:
        f.write(f"{os.getpid()} ")
    with open("out", "a") as f:
        f.write("ready\n")
    return s.recv(1000)  # HERE

def add(a, b):
    return a + b
