import socket, sys, time

s = socket.create_connection(("127.0.0.1", int(open(sys.argv[1]).read())))
s.sendall(b"GET / HTTP/1.0\r\n\r\n")
print("ready", flush=True)
print(s.recv(1000))
