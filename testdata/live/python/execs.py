"""Code that is made, run and freed again and again, at the same addresses."""
import truth


def leaf(n):
    return sum(range(n))


truth.ready()
n = 0
while True:
    n += 1
    name = "made_%d" % (n % 7)
    exec("%sdef %s(n):\n    x = leaf(n)\n%s    return leaf(x %% 50)\n\n%s(30)\n" % (
        "\n" * (n % 5), name, "    x += 1\n" * (n % 3), name), {"leaf": leaf})
