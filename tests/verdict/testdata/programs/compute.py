# Workers of a pool compute; the parent waits for them.
import hashlib, json, multiprocessing

def parse(text):
    return len(json.loads(text))

def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()

def shard(n):
    text = json.dumps([{"id": i, "tags": [str(i)] * 5} for i in range(2000)])
    while True:
        parse(text)
        digest(text)
        sorted(text.split(","))

if __name__ == "__main__":
    with multiprocessing.Pool(1) as pool:
        print("ready", flush=True)
        pool.map(shard, [1])
