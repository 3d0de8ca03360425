import sys, redis, rq

rq.Queue(connection=redis.Redis(port=int(sys.argv[1]))).enqueue("tasks.fetch_report", int(open("port").read()))
