"""Functions that call one another in a strict order, with recursion: c calls a again."""
import sys


def a(n):
    x = 0
    for i in range(20):
        x += i
    return b(n) + x


def b(n):
    x = [i for i in range(10)]
    return c(n) + len(x)


def c(n):
    x = {i: i for i in range(10)}
    if n == 0:
        return len(x)
    return a(n - 1) + len(x)


def top():
    while True:
        a(7)


print("ready", flush=True)
top()
