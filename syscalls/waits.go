package syscalls

// waitCall knows the calls that wait for events of several kinds: descriptors, futexes,
// children, messages, semaphores.
func waitCall(name string) (string, bool) {
	switch name {
	case "poll":
		return "ptr fds, uint nfds, int timeout", true
	case "ppoll", "ppoll_time64":
		return "ptr fds, uint nfds, ptr timeout, ptr sigmask, size sigsetsize", true
	case "select", "_newselect":
		return "int nfds, ptr readfds, ptr writefds, ptr exceptfds, ptr timeout", true
	case "pselect6", "pselect6_time64":
		return "int nfds, ptr readfds, ptr writefds, ptr exceptfds, ptr timeout, ptr sigmask", true
	case "epoll_create":
		return "int size", true
	case "epoll_ctl":
		return "fd epfd, epollop op, fd fd, ptr event", true
	case "epoll_wait":
		return "fd epfd, ptr events, int maxevents, int timeout", true
	case "epoll_pwait":
		return "fd epfd, ptr events, int maxevents, int timeout, ptr sigmask, size sigsetsize", true
	case "epoll_pwait2":
		return "fd epfd, ptr events, int maxevents, ptr timeout, ptr sigmask, size sigsetsize", true
	case "futex", "futex_time64":
		return "ptr uaddr, futex op, uint val, ptr timeout, ptr uaddr2, uint val3", true
	case "futex_waitv":
		return "ptr waiters, uint nr_futexes, hex flags, ptr timeout, clock clockid", true
	case "futex_wait":
		return "ptr uaddr, size val, word mask, hex flags, ptr timeout, clock clockid", true
	case "futex_wake":
		return "ptr uaddr, word mask, int nr, hex flags", true
	case "futex_requeue":
		return "ptr waiters, hex flags, int nr_wake, int nr_requeue", true
	case "wait4":
		return "int pid, ptr wstatus, wait options, ptr rusage", true
	case "waitpid":
		return "int pid, ptr wstatus, wait options", true
	case "waitid":
		return "idtype idtype, int id, ptr infop, wait options, ptr rusage", true
	case "pause":
		return "", true
	case "rt_sigsuspend":
		return "ptr mask, size sigsetsize", true
	case "sigsuspend":
		return "word mask", true
	case "rt_sigtimedwait", "rt_sigtimedwait_time64":
		return "ptr set, ptr info, ptr timeout, size sigsetsize", true
	case "io_uring_enter":
		return "fd fd, uint to_submit, uint min_complete, hex flags, ptr sig, size sigsz", true
	case "io_getevents":
		return "word ctx_id, long min_nr, long nr, ptr events, ptr timeout", true
	case "io_pgetevents", "io_pgetevents_time64":
		return "word ctx_id, long min_nr, long nr, ptr events, ptr timeout, ptr sigmask", true
	case "semget":
		return "hex key, int nsems, hex semflg", true
	case "semop":
		return "int semid, ptr sops, size nsops", true
	case "semtimedop", "semtimedop_time64":
		return "int semid, ptr sops, size nsops, ptr timeout", true
	case "semctl":
		return "int semid, int semnum, int cmd, word arg", true
	case "msgget":
		return "hex key, hex msgflg", true
	case "msgsnd":
		return "int msqid, ptr msgp, size msgsz, hex msgflg", true
	case "msgrcv":
		return "int msqid, ptr msgp, size msgsz, long msgtyp, hex msgflg", true
	case "msgctl":
		return "int msqid, int cmd, ptr buf", true
	case "ipc":
		return "ipc call, int first, word second, word third, ptr ptr, long fifth", true
	case "mq_open":
		return "ptr name, hex oflag, mode mode, ptr attr", true
	case "mq_timedsend", "mq_timedsend_time64":
		return "fd mqdes, ptr msg_ptr, size msg_len, uint msg_prio, ptr abs_timeout", true
	case "mq_timedreceive", "mq_timedreceive_time64":
		return "fd mqdes, ptr msg_ptr, size msg_len, ptr msg_prio, ptr abs_timeout", true
	case "mq_notify":
		return "fd mqdes, ptr sevp", true
	case "mq_getsetattr":
		return "fd mqdes, ptr newattr, ptr oldattr", true
	}
	return "", false
}

// socketCall knows the calls on sockets.
func socketCall(name string) (string, bool) {
	switch name {
	case "socket":
		return "int domain, hex type, int protocol", true
	case "socketpair":
		return "int domain, hex type, int protocol, ptr sv", true
	case "socketcall":
		return "socketcall call, ptr args", true
	case "accept", "getsockname", "getpeername":
		return "fd sockfd, ptr addr, ptr addrlen", true
	case "accept4":
		return "fd sockfd, ptr addr, ptr addrlen, hex flags", true
	case "connect", "bind":
		return "fd sockfd, ptr addr, int addrlen", true
	case "listen":
		return "fd sockfd, int backlog", true
	case "shutdown":
		return "fd sockfd, shut how", true
	case "recv", "send":
		return "fd sockfd, ptr buf, size len, hex flags", true
	case "recvfrom":
		return "fd sockfd, ptr buf, size len, hex flags, ptr src_addr, ptr addrlen", true
	case "sendto":
		return "fd sockfd, ptr buf, size len, hex flags, ptr dest_addr, int addrlen", true
	case "recvmsg", "sendmsg":
		return "fd sockfd, ptr msg, hex flags", true
	case "recvmmsg", "recvmmsg_time64":
		return "fd sockfd, ptr msgvec, uint vlen, hex flags, ptr timeout", true
	case "sendmmsg":
		return "fd sockfd, ptr msgvec, uint vlen, hex flags", true
	case "setsockopt":
		return "fd sockfd, int level, int optname, ptr optval, int optlen", true
	case "getsockopt":
		return "fd sockfd, int level, int optname, ptr optval, ptr optlen", true
	}
	return "", false
}
