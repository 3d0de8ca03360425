"""A chain of ten frames that works."""


def chain(n):
    if n:
        return chain(n - 1)
    while True:
        for i in range(1000):
            i * i


print("ready", flush=True)
chain(8)
