# A worker of a pool was killed in its task, which is lost.
import multiprocessing, os, signal, time

def crash(shard):
    if shard == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return shard

def run(pool):
    return pool.map(crash, range(4), 1)  # HERE

if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print("ready", flush=True)
        run(pool)
