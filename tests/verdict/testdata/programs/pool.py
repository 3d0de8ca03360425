# One of the tasks of a pool of processes does not end; the other worker is idle.
import multiprocessing, os, socket

def load(shard):
    if shard == 2:
        with open("culprit", "w") as f:
            f.write(str(os.getpid()))
        ours, theirs = socket.socketpair()
        print("ready", flush=True)
        ours.recv(1)  # HERE
    return shard

if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        pool.map(load, range(4), 1)
