"""One chain of calls that is hot, so that a JIT compiler takes it."""


def inner(n):
    total = 0
    for i in range(n):
        total += i & 3
    return total


def middle(n):
    return inner(n) + 1


def outer(n):
    f = lambda x: middle(x) * 2
    return f(n)


def main():
    print("ready", flush=True)
    while True:
        outer(3000)


main()
