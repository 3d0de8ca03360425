"""Local variables of known values, in frames of a plain function, a method, a closure and a generator."""
import collections
import enum
import os
import sys
import time

Point = collections.namedtuple("Point", "x y")


class Color(enum.IntEnum):
    RED = 1


class Plain:
    def __init__(self):
        self.name = "plain"

    def method(self, event):
        own = "in method"
        closure()


class Text(str):
    pass


def plain():
    nothing, yes, no = None, True, False
    zero, small, negative, large, huge = 0, 42, -7, 2**70, 2**1000
    half, whole, tiny, infinite = 0.5, 3.0, 1e-9, float("-inf")
    ascii_text, quoted, line, japanese, long_text = "abc", "it's", "a\n\x1b\\", "日本", "x" * 100
    data, no_data = b"\x00ab\xff", b""
    numbers, nested, empty = [1, 2, 3, 4, 5], [[[1]], {"k": [1]}], []
    one, pair = (1,), (1, "b")
    mapping, letters, frozen, no_set = {"a": 1, 2: None}, {7}, frozenset((8,)), set()
    point, color, derived = Point(1, 2), Color.RED, Text("t")
    thing, kind, function, module = Plain(), Plain, plain, os
    try:
        unset
    except NameError:
        thing.method(1)
    unset = 1


def closure():
    cell, plain_one = "in cell", 1

    def inner():
        seen = cell
        next(generator(seen))

    inner()


def generator(value):
    twice = value * 2
    print("ready", flush=True)
    time.sleep(1000)
    yield twice


plain()
