package syscalls

import (
	"strings"
	"sync"
)

// calls finds the arguments of the calls that have the same on every architecture, by name. The first line that has a
// name counts.
var calls = sync.OnceValue(func() map[string]string {
	const about = 512 // names: a map that grows is filled several times
	all := make(map[string]string, about)
	for line := range strings.Lines(callTable) {
		names, spec, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			if _, had := all[name]; !had {
				all[name] = strings.TrimPrefix(spec, " ")
			}
		}
	}
	return all
})

// callTable has a line for each list of arguments: the calls that take it, a colon, and pairs of type and name; see
// prototype.
const callTable = `
# Open files.
read write: fd fd, ptr buf, size count
readv writev: fd fd, ptr iov, size iovcnt
pread64 pwrite64: fd fd, ptr buf, size count, off offset
preadv pwritev: fd fd, ptr iov, size iovcnt, size pos_l, size pos_h
preadv2 pwritev2: fd fd, ptr iov, size iovcnt, size pos_l, size pos_h, hex flags
close dup fsync fdatasync syncfs fchdir: fd fd
close_range: uint first, uint last, hex flags
dup2: fd oldfd, fd newfd
dup3: fd oldfd, fd newfd, hex flags
fcntl fcntl64: fd fd, fcntl cmd, word arg
ioctl: fd fd, hex request, word arg
flock: fd fd, flock operation
lseek: fd fd, long offset, whence whence
_llseek: fd fd, size offset_high, size offset_low, ptr result, whence whence
fstat fstat64 oldfstat fstatfs: fd fd, ptr buf
fstatfs64: fd fd, size size, ptr buf
ftruncate: fd fd, size length
ftruncate64: fd fd, off length
fallocate: fd fd, hex mode, off offset, off len
fadvise64: fd fd, off offset, size len, int advice
fadvise64_64: fd fd, off offset, off len, int advice
readahead: fd fd, off offset, size count
sync_file_range: fd fd, off offset, off nbytes, hex flags
splice: fd fd_in, ptr off_in, fd fd_out, ptr off_out, size len, hex flags
tee: fd fd_in, fd fd_out, size len, hex flags
vmsplice: fd fd, ptr iov, size nr_segs, hex flags
sendfile sendfile64: fd out_fd, fd in_fd, ptr offset, size count
copy_file_range: fd fd_in, ptr off_in, fd fd_out, ptr off_out, size len, hex flags
fchmod: fd fd, mode mode
fchown fchown32: fd fd, int owner, int group
getdents getdents64: fd fd, ptr dirp, uint count
readdir: fd fd, ptr dirp, uint count
fgetxattr: fd fd, ptr name, ptr value, size size
fsetxattr: fd fd, ptr name, ptr value, size size, hex flags
flistxattr: fd fd, ptr list, size size
fremovexattr: fd fd, ptr name
pipe: ptr pipefd
pipe2: ptr pipefd, hex flags
io_setup: uint nr_events, ptr ctx_idp
io_destroy: word ctx_id
io_submit: word ctx_id, long nr, ptr iocbpp
io_cancel: word ctx_id, ptr iocb, ptr result
io_uring_setup: uint entries, ptr params
io_uring_register: fd fd, uint opcode, ptr arg, uint nr_args
inotify_init:
inotify_init1: hex flags
inotify_add_watch: fd fd, ptr pathname, hex mask
inotify_rm_watch: fd fd, int wd
fanotify_init: hex flags, hex event_f_flags
fanotify_mark: fd fanotify_fd, hex flags, mask mask, dirfd dirfd, ptr pathname
userfaultfd epoll_create1: hex flags
eventfd: uint initval
eventfd2: uint initval, hex flags
memfd_create: ptr name, hex flags
memfd_secret: hex flags
signalfd: fd fd, ptr mask, size sizemask
signalfd4: fd fd, ptr mask, size sizemask, hex flags
# Names in the file system, and mounts.
open: ptr pathname, hex flags, mode mode
openat: dirfd dirfd, ptr pathname, hex flags, mode mode
openat2: dirfd dirfd, ptr pathname, ptr how, size size
creat mkdir chmod access: ptr pathname, mode mode
mkdirat fchmodat faccessat: dirfd dirfd, ptr pathname, mode mode
faccessat2 fchmodat2: dirfd dirfd, ptr pathname, mode mode, hex flags
stat lstat stat64 lstat64 oldstat oldlstat statfs: ptr pathname, ptr buf
statfs64: ptr pathname, size size, ptr buf
newfstatat fstatat64: dirfd dirfd, ptr pathname, ptr buf, hex flags
statx: dirfd dirfd, ptr pathname, hex flags, hex mask, ptr buf
readlink: ptr pathname, ptr buf, int bufsiz
readlinkat: dirfd dirfd, ptr pathname, ptr buf, int bufsiz
chdir rmdir unlink chroot acct uselib swapoff mq_unlink umount: ptr pathname
unlinkat: dirfd dirfd, ptr pathname, hex flags
link symlink rename pivot_root: ptr oldpath, ptr newpath
linkat renameat2: dirfd olddirfd, ptr oldpath, dirfd newdirfd, ptr newpath, hex flags
renameat: dirfd olddirfd, ptr oldpath, dirfd newdirfd, ptr newpath
symlinkat: ptr target, dirfd newdirfd, ptr linkpath
mknod: ptr pathname, mode mode, hex dev
mknodat: dirfd dirfd, ptr pathname, mode mode, hex dev
chown lchown chown32 lchown32: ptr pathname, int owner, int group
fchownat: dirfd dirfd, ptr pathname, int owner, int group, hex flags
truncate: ptr path, size length
truncate64: ptr path, off length
utime utimes: ptr filename, ptr times
futimesat: dirfd dirfd, ptr pathname, ptr times
utimensat utimensat_time64: dirfd dirfd, ptr pathname, ptr times, hex flags
getcwd: ptr buf, size size
getxattr lgetxattr: ptr path, ptr name, ptr value, size size
setxattr lsetxattr: ptr path, ptr name, ptr value, size size, hex flags
listxattr llistxattr: ptr path, ptr list, size size
removexattr lremovexattr: ptr path, ptr name
getxattrat setxattrat: dirfd dirfd, ptr pathname, hex flags, ptr name, ptr args, size size
listxattrat: dirfd dirfd, ptr pathname, hex flags, ptr list, size size
removexattrat: dirfd dirfd, ptr pathname, hex flags, ptr name
file_getattr file_setattr: dirfd dirfd, ptr pathname, ptr attr, size size, hex flags
name_to_handle_at: dirfd dirfd, ptr pathname, ptr handle, ptr mount_id, hex flags
open_by_handle_at: dirfd mount_fd, ptr handle, hex flags
mount: ptr source, ptr target, ptr filesystemtype, word mountflags, ptr data
umount2: ptr target, hex flags
mount_setattr: dirfd dirfd, ptr pathname, hex flags, ptr attr, size size
move_mount: dirfd from_dirfd, ptr from_pathname, dirfd to_dirfd, ptr to_pathname, hex flags
open_tree: dirfd dirfd, ptr pathname, hex flags
open_tree_attr: dirfd dirfd, ptr pathname, hex flags, ptr attr, size size
fsopen: ptr fsname, hex flags
fsconfig: fd fd, uint cmd, ptr key, ptr value, int aux
fsmount: fd fd, hex flags, hex attr_flags
fspick: dirfd dirfd, ptr pathname, hex flags
statmount listns: ptr req, ptr buf, size bufsize, hex flags
listmount: ptr req, ptr mnt_ids, size nr_mnt_ids, hex flags
swapon: ptr path, hex swapflags
quotactl: hex cmd, ptr special, int id, ptr addr
quotactl_fd: fd fd, hex cmd, int id, ptr addr
ustat: hex dev, ptr ubuf
sysfs: int option, word arg1, word arg2
umask: mode mask
sync vhangup:
lookup_dcookie: mask cookie, ptr buf, size len
# Events of several kinds: descriptors, futexes, children, messages, semaphores.
poll: ptr fds, uint nfds, int timeout
ppoll ppoll_time64: ptr fds, uint nfds, ptr timeout, ptr sigmask, size sigsetsize
select _newselect: int nfds, ptr readfds, ptr writefds, ptr exceptfds, ptr timeout
pselect6 pselect6_time64: int nfds, ptr readfds, ptr writefds, ptr exceptfds, ptr timeout, ptr sigmask
epoll_create: int size
epoll_ctl: fd epfd, epollop op, fd fd, ptr event
epoll_wait: fd epfd, ptr events, int maxevents, int timeout
epoll_pwait: fd epfd, ptr events, int maxevents, int timeout, ptr sigmask, size sigsetsize
epoll_pwait2: fd epfd, ptr events, int maxevents, ptr timeout, ptr sigmask, size sigsetsize
futex futex_time64: ptr uaddr, futex op, uint val, ptr timeout, ptr uaddr2, uint val3
futex_waitv: ptr waiters, uint nr_futexes, hex flags, ptr timeout, clock clockid
futex_wait: ptr uaddr, size val, word mask, hex flags, ptr timeout, clock clockid
futex_wake: ptr uaddr, word mask, int nr, hex flags
futex_requeue: ptr waiters, hex flags, int nr_wake, int nr_requeue
wait4: int pid, ptr wstatus, wait options, ptr rusage
waitpid: int pid, ptr wstatus, wait options
waitid: idtype idtype, int id, ptr infop, wait options, ptr rusage
pause:
rt_sigsuspend: ptr mask, size sigsetsize
sigsuspend: word mask
rt_sigtimedwait rt_sigtimedwait_time64: ptr set, ptr info, ptr timeout, size sigsetsize
io_uring_enter: fd fd, uint to_submit, uint min_complete, hex flags, ptr sig, size sigsz
io_getevents: word ctx_id, long min_nr, long nr, ptr events, ptr timeout
io_pgetevents io_pgetevents_time64: word ctx_id, long min_nr, long nr, ptr events, ptr timeout, ptr sigmask
semget: hex key, int nsems, hex semflg
semop: int semid, ptr sops, size nsops
semtimedop semtimedop_time64: int semid, ptr sops, size nsops, ptr timeout
semctl: int semid, int semnum, int cmd, word arg
msgget: hex key, hex msgflg
msgsnd: int msqid, ptr msgp, size msgsz, hex msgflg
msgrcv: int msqid, ptr msgp, size msgsz, long msgtyp, hex msgflg
msgctl: int msqid, int cmd, ptr buf
ipc: ipc call, int first, word second, word third, ptr ptr, long fifth
mq_open: ptr name, hex oflag, mode mode, ptr attr
mq_timedsend mq_timedsend_time64: fd mqdes, ptr msg_ptr, size msg_len, uint msg_prio, ptr abs_timeout
mq_timedreceive mq_timedreceive_time64: fd mqdes, ptr msg_ptr, size msg_len, ptr msg_prio, ptr abs_timeout
mq_notify: fd mqdes, ptr sevp
mq_getsetattr: fd mqdes, ptr newattr, ptr oldattr
# Sockets.
socket: int domain, hex type, int protocol
socketpair: int domain, hex type, int protocol, ptr sv
socketcall: socketcall call, ptr args
accept getsockname getpeername: fd sockfd, ptr addr, ptr addrlen
accept4: fd sockfd, ptr addr, ptr addrlen, hex flags
connect bind: fd sockfd, ptr addr, int addrlen
listen: fd sockfd, int backlog
shutdown: fd sockfd, shut how
recv send: fd sockfd, ptr buf, size len, hex flags
recvfrom: fd sockfd, ptr buf, size len, hex flags, ptr src_addr, ptr addrlen
sendto: fd sockfd, ptr buf, size len, hex flags, ptr dest_addr, int addrlen
recvmsg sendmsg: fd sockfd, ptr msg, hex flags
recvmmsg recvmmsg_time64: fd sockfd, ptr msgvec, uint vlen, hex flags, ptr timeout
sendmmsg: fd sockfd, ptr msgvec, uint vlen, hex flags
setsockopt: fd sockfd, int level, int optname, ptr optval, int optlen
getsockopt: fd sockfd, int level, int optname, ptr optval, ptr optlen
# Address spaces and shared memory.
mmap: ptr addr, size length, hex prot, hex flags, fd fd, word offset
mmap2: ptr addr, size length, hex prot, hex flags, fd fd, word pgoffset
munmap mlock munlock: ptr addr, size length
mlock2: ptr addr, size length, hex flags
mlockall: hex flags
munlockall:
mprotect: ptr addr, size length, hex prot
pkey_mprotect: ptr addr, size length, hex prot, int pkey
pkey_alloc: word flags, word access_rights
pkey_free: int pkey
mremap: ptr old_address, size old_size, size new_size, word flags, ptr new_address
msync: ptr addr, size length, hex flags
madvise: ptr addr, size length, int advice
process_madvise: fd pidfd, ptr iovec, size vlen, int advice, hex flags
process_mrelease: fd pidfd, hex flags
mincore: ptr addr, size length, ptr vec
mseal: ptr addr, size length, word flags
brk: ptr addr
remap_file_pages: ptr addr, size size, word prot, size pgoff, word flags
mbind: ptr addr, size len, int mode, ptr nodemask, size maxnode, hex flags
set_mempolicy: int mode, ptr nodemask, size maxnode
get_mempolicy: ptr mode, ptr nodemask, size maxnode, ptr addr, hex flags
set_mempolicy_home_node: ptr start, size len, size home_node, word flags
migrate_pages: int pid, size maxnode, ptr old_nodes, ptr new_nodes
move_pages: int pid, size count, ptr pages, ptr nodes, ptr status, hex flags
process_vm_readv process_vm_writev: int pid, ptr local_iov, size liovcnt, ptr remote_iov, size riovcnt, hex flags
shmget: hex key, size size, hex shmflg
shmat: int shmid, ptr shmaddr, hex shmflg
shmdt: ptr shmaddr
shmctl: int shmid, int cmd, ptr buf
map_shadow_stack: ptr addr, size size, hex flags
membarrier: int cmd, hex flags, int cpu_id
cachestat: fd fd, ptr range, ptr cstat, hex flags
subpage_prot: ptr addr, size len, ptr map
cacheflush: ptr start, ptr end, hex flags
riscv_flush_icache: ptr start, ptr end, word flags
# Processes, threads, their rights and their signals.
fork vfork getpid getppid gettid getpgrp setsid getuid geteuid getgid getegid getuid32 geteuid32 getgid32 getegid32: 
sched_yield rseq_slice_yield sigreturn rt_sigreturn sgetmask: 
clone3: ptr cl_args, size size
execve: ptr pathname, ptr argv, ptr envp
execveat: dirfd dirfd, ptr pathname, ptr argv, ptr envp, hex flags
exit exit_group: int status
set_tid_address: ptr tidptr
getpgid getsid sched_getscheduler: int pid
setpgid: int pid, int pgid
setuid setgid setfsuid setfsgid setuid32 setgid32 setfsuid32 setfsgid32: int id
setreuid setregid setreuid32 setregid32: int real, int effective
setresuid setresgid setresuid32 setresgid32: int real, int effective, int saved
getresuid getresgid getresuid32 getresgid32: ptr real, ptr effective, ptr saved
getgroups setgroups getgroups32 setgroups32: int size, ptr list
capget capset: ptr hdrp, ptr datap
kill tkill: int pid, signal sig
tgkill: int tgid, int tid, signal sig
pidfd_open: int pid, hex flags
pidfd_getfd: fd pidfd, int targetfd, hex flags
pidfd_send_signal: fd pidfd, signal sig, ptr info, hex flags
signal: signal signum, ptr handler
sigaction: signal signum, ptr act, ptr oldact
rt_sigaction: signal signum, ptr act, ptr oldact, size sigsetsize
sigprocmask: int how, ptr set, ptr oldset
rt_sigprocmask: int how, ptr set, ptr oldset, size sigsetsize
sigpending: ptr set
rt_sigpending: ptr set, size sigsetsize
rt_sigqueueinfo: int tgid, signal sig, ptr info
rt_tgsigqueueinfo: int tgid, int tid, signal sig, ptr info
sigaltstack: ptr ss, ptr old_ss
ssetmask: hex newmask
ptrace: long request, long pid, ptr addr, ptr data
kcmp: int pid1, int pid2, int type, size idx1, size idx2
prctl: int option, word arg2, word arg3, word arg4, word arg5
arch_prctl: hex code, ptr addr
seccomp: uint operation, hex flags, ptr args
setns: fd fd, hex nstype
unshare: word flags
personality: hex persona
set_robust_list: ptr head, size len
get_robust_list: int pid, ptr head_ptr, ptr len_ptr
rseq: ptr rseq, uint rseq_len, hex flags, hex sig
uprobe uretprobe:
set_thread_area get_thread_area: ptr u_info
modify_ldt: int func, ptr ptr, size bytecount
set_tls: ptr tls
get_tls breakpoint usr26 usr32:
nice: int inc
getpriority ioprio_get: int which, int who
setpriority ioprio_set: int which, int who, int prio
getrlimit setrlimit ugetrlimit: int resource, ptr rlim
prlimit64: int pid, int resource, ptr new_limit, ptr old_limit
getrusage: int who, ptr usage
sched_setscheduler: int pid, int policy, ptr param
sched_setparam sched_getparam: int pid, ptr param
sched_setattr: int pid, ptr attr, hex flags
sched_getattr: int pid, ptr attr, uint size, hex flags
sched_setaffinity sched_getaffinity: int pid, uint cpusetsize, ptr mask
sched_get_priority_max sched_get_priority_min: int policy
sched_rr_get_interval sched_rr_get_interval_time64: int pid, ptr tp
# Clocks and timers.
nanosleep: ptr req, ptr rem
clock_nanosleep clock_nanosleep_time64: clock clockid, hex flags, ptr request, ptr remain
clock_gettime clock_settime clock_getres clock_adjtime clock_gettime64 clock_settime64: clock clockid, ptr tp
clock_getres_time64 clock_adjtime64: clock clockid, ptr tp
gettimeofday settimeofday: ptr tv, ptr tz
time stime: ptr tloc
times: ptr buf
adjtimex: ptr buf
alarm: uint seconds
getitimer: int which, ptr curr_value
setitimer: int which, ptr new_value, ptr old_value
timer_create: clock clockid, ptr sevp, ptr timerid
timer_settime timer_settime64: int timerid, hex flags, ptr new_value, ptr old_value
timer_gettime timer_gettime64: int timerid, ptr curr_value
timer_getoverrun timer_delete: int timerid
timerfd_create: clock clockid, hex flags
timerfd_settime timerfd_settime64: fd fd, hex flags, ptr new_value, ptr old_value
timerfd_gettime timerfd_gettime64: fd fd, ptr curr_value
# The machine and the kernel itself.
uname olduname oldolduname: ptr buf
sysinfo: ptr info
_sysctl: ptr args
sethostname setdomainname: ptr name, int len
syslog: int type, ptr buf, int len
reboot: hex magic, hex magic2, hex cmd, ptr arg
kexec_load: ptr entry, size nr_segments, ptr segments, word flags
kexec_file_load: fd kernel_fd, fd initrd_fd, size cmdline_len, ptr cmdline, word flags
init_module: ptr module_image, size len, ptr param_values
finit_module: fd fd, ptr param_values, hex flags
delete_module: ptr name, hex flags
getrandom: ptr buf, size buflen, hex flags
getcpu: ptr cpu, ptr node, ptr tcache
bpf: int cmd, ptr attr, uint size
perf_event_open: ptr attr, int pid, int cpu, fd group_fd, word flags
add_key: ptr type, ptr description, ptr payload, size plen, int keyring
request_key: ptr type, ptr description, ptr callout_info, int dest_keyring
keyctl: int operation, word arg2, word arg3, word arg4, word arg5
landlock_create_ruleset: ptr attr, size size, hex flags
landlock_add_rule: fd ruleset_fd, int rule_type, ptr rule_attr, hex flags
landlock_restrict_self: fd ruleset_fd, hex flags
lsm_get_self_attr: uint attr, ptr ctx, ptr size, hex flags
lsm_set_self_attr: uint attr, ptr ctx, uint size, hex flags
lsm_list_modules: ptr ids, ptr size, hex flags
ioperm: word from, size num, int turn_on
iopl: uint level
vm86: word function, ptr v86
vm86old: ptr v86
bdflush: int func, long data
pciconfig_iobase: long which, word bus, word devfn
pciconfig_read pciconfig_write: word bus, word dfn, word off, size len, ptr buf
riscv_hwprobe: ptr pairs, size pair_count, size cpusetsize, ptr cpus, hex flags
s390_pci_mmio_read s390_pci_mmio_write: ptr mmio_addr, ptr user_buffer, size length
s390_runtime_instr: int command, int signum
s390_guarded_storage: int command, ptr gs_cb
s390_sthyi: word function_code, ptr resp_buffer, ptr return_code, word flags
spu_create: ptr name, hex flags, mode mode, fd neighbor_fd
spu_run: fd fd, ptr npc, ptr event
swapcontext: ptr old_ctx, ptr new_ctx, long ctx_size
rtas: ptr args
sys_debug_setcontext: ptr ctx, int ndbg, ptr dbg
switch_endian:
`
