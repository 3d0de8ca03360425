"""A server of gevent, with clients that wait for it."""
import gevent
from gevent import socket
from gevent.event import Event
from gevent.server import StreamServer


def handle(connection, _address):
    connection.recv(1)
    never.wait()


def client(port):
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(b"x")
    s.recv(1)


def sleeper():
    gevent.sleep(3600)


never = Event()
server = StreamServer(("127.0.0.1", 0), handle)
server.start()
clients = [gevent.spawn(client, server.server_port) for _ in range(4)] + [gevent.spawn(sleeper) for _ in range(3)]
gevent.sleep(0.3)
print("ready", flush=True)
gevent.joinall(clients)
