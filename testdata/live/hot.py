# Functions that call each other without an end; the innermost computes.
import sys


def inner(n):
    s = 0
    for i in range(20000):
        s += i ^ n
    return s


class A:
    def middle(self, n):
        return inner(n) + 1


def outer(n):
    return (lambda x: A().middle(x))(n)


def main():
    while True:
        outer(1)


sys.stdout.write("R\n")
sys.stdout.flush()
main()
