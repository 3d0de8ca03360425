"""Much of what Python has, in turns."""
import collections
import functools
import json
import re

import truth


def leaf(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


class Base:
    def __init__(self, n):
        self.n = leaf(n)

    @property
    def size(self):
        return leaf(
            20,
        ) + self.n

    @classmethod
    def make(cls, n):
        return cls(n)

    @staticmethod
    def plain(n):
        return leaf(n)

    def __len__(self):
        return leaf(10) % 7

    def __eq__(self, other):
        return leaf(9) == other.n

    def __lt__(self, other):
        return self.n + leaf(5) < other.n

    __hash__ = None


class Derived(Base):
    def __init__(self, n):
        super().__init__(
            n
        )
        self.more = [leaf(i) for i in range(4)]

    def __enter__(self):
        leaf(6)
        return self

    def __exit__(self, *what):
        leaf(7)
        return True


def numbers(n):
    for i in range(n):
        yield leaf(i)


def delegate(n):
    result = yield from numbers(n)
    return result


def decorate(f):
    @functools.wraps(f)
    def around(*args, **kwargs):
        leaf(4)
        return f(*args, **kwargs)
    return around


@decorate
@decorate
def decorated(n):
    return leaf(n)


def raises(n):
    if n == 0:
        raise ValueError(leaf(12))
    return raises(n - 1)


def catches():
    try:
        raises(5)
    except ValueError as e:
        return leaf(int(e.args[0] > 0) + 10)
    finally:
        leaf(8)


def naïve(n):
    return δοκιμή(n)


def δοκιμή(n):
    return leaf(n) + (lambda 日本: leaf(日本))(n)


@functools.lru_cache(maxsize=2)
def cached(n):
    return leaf(n)


def hook(d):
    leaf(len(d) + 3)
    return d


def everything(round):
    d = Derived(10)
    d.size, len(d), d == d, sorted([Base(3), Base(2), Base(1)])
    Base.make(5), Base.plain(6)
    list(delegate(6)), sum(numbers(5)), [leaf(i) for i in numbers(4)]
    {leaf(i): leaf(j) for i in range(3) for j in range(2)}
    sorted(range(8), key=lambda x: leaf(x))
    max(range(5), key=leaf), list(map(leaf, range(5))), list(filter(lambda x: leaf(x) > 3, range(5)))
    functools.reduce(lambda x, y: leaf(3) + x + y, range(5))
    re.sub(r"\d", lambda m: str(leaf(int(m.group()))), "1 2 3 4")
    json.loads('[{"a": 1}, {"b": {"c": 2}}]', object_hook=hook)
    decorated(7), catches(), naïve(9), cached(round % 5)
    eval("leaf(11)"), exec("def made(n):\n    return leaf(n)\n\nmade(9)", {"leaf": leaf})
    with Derived(3):
        raise KeyError
    collections.namedtuple("Pair", "x y")(leaf(1), leaf(2))
    type("Made", (Base,), {"method": lambda self: leaf(4)})(2).method()


truth.ready()
i = 0
while True:
    everything(i)
    i += 1
