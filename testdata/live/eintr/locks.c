/* Locks, queues, semaphores, futexes and children. */
#include "eintr.h"
#include <linux/futex.h>
#include <mqueue.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>

static pid_t child;
static int queue = -1, semaphores = -1;
static mqd_t posix_queue = (mqd_t)-1;
static uint32_t word;
static sem_t semaphore;
static pthread_mutex_t inheriting;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void make_child(void) {
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live_sleep_us(ASKED_MS * 1000L);
		_exit(0);
	}
}

static long block_wait4(void) { return waitpid(child, NULL, 0) == child ? 0 : -1; }

static long block_waitid(void) {
	siginfo_t info;
	return waitid(P_PID, (id_t)child, &info, WEXITED);
}

/* Two open files, as a lock belongs to the open file (flock(2), fcntl(2)). */
static void open_twice(void) {
	char path[] = "/tmp/fpstack-eintr-XXXXXX";
	shared[0] = mkstemp(path);
	shared[1] = open(path, O_RDWR | O_CLOEXEC);
	unlink(path);
}

static void make_flock(void) {
	open_twice();
	flock(shared[1], LOCK_EX);
}

static long block_flock(void) { return flock(shared[0], LOCK_EX); }
static void unlock_flock(void) { flock(shared[1], LOCK_UN); }

static long set_ofd(int fd, int command, short type) {
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
	return fcntl(fd, command, &lock);
}

static void make_ofd(void) {
	open_twice();
	set_ofd(shared[1], F_OFD_SETLK, F_WRLCK);
}

static long block_ofd(void) { return set_ofd(shared[0], F_OFD_SETLKW, F_WRLCK); }
static void unlock_ofd(void) { set_ofd(shared[1], F_OFD_SETLK, F_UNLCK); }

/* A lock of fcntl belongs to the process, so a child must hold it. */
static void make_record_lock(void) {
	int told[2];
	char byte;
	open_twice();
	if (pipe(told) != 0)
		live_die("pipe");
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		set_ofd(shared[1], F_SETLK, F_WRLCK);
		(void)!write(told[1], "x", 1);
		live_sleep_us(ASKED_MS * 1000L);
		_exit(0);
	}
	(void)!read(told[0], &byte, 1);
	close(told[0]);
	close(told[1]);
}

static long block_record_lock(void) { return set_ofd(shared[0], F_SETLKW, F_WRLCK); }

static void make_mq(void) {
	char name[64];
	snprintf(name, sizeof name, "/fpstack-eintr-%d", getpid());
	posix_queue = mq_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600, NULL);
	mq_unlink(name);
}

static long block_mq(void) {
	static char message[1 << 16];
	return mq_receive(posix_queue, message, sizeof message, NULL) < 0 ? -1 : 0;
}

static void send_mq(void) { mq_send(posix_queue, "x", 1, 0); }

struct letter {
	long type;
	char text[1024];
};

static void make_msg(void) { queue = msgget(IPC_PRIVATE, 0600); }

static void fill_msg(void) {
	struct letter letter = {.type = 1};
	make_msg();
	while (msgsnd(queue, &letter, sizeof letter.text, IPC_NOWAIT) == 0)
		;
}

static long remove_queue(long result) {
	int code = errno;
	msgctl(queue, IPC_RMID, NULL);
	errno = code;
	return result;
}

static long block_msgrcv(void) {
	struct letter letter;
	return remove_queue(msgrcv(queue, &letter, sizeof letter.text, 0, 0) < 0 ? -1 : 0);
}

static long block_msgsnd(void) {
	struct letter letter = {.type = 1};
	return remove_queue(msgsnd(queue, &letter, sizeof letter.text, 0));
}

static void send_msg(void) {
	struct letter letter = {.type = 1};
	msgsnd(queue, &letter, sizeof letter.text, IPC_NOWAIT);
}

static void take_msg(void) {
	struct letter letter;
	msgrcv(queue, &letter, sizeof letter.text, 0, IPC_NOWAIT);
}

static void make_sem(void) { semaphores = semget(IPC_PRIVATE, 1, 0600); }

static long remove_sem(long result) {
	int code = errno;
	semctl(semaphores, 0, IPC_RMID);
	errno = code;
	return result;
}

static long block_semop(void) {
	struct sembuf down = {0, -1, 0};
	return remove_sem(semop(semaphores, &down, 1));
}

static long block_semtimedop(void) {
	struct sembuf down = {0, -1, 0};
	struct timespec limit = asked_time();
	return remove_sem(semtimedop(semaphores, &down, 1, &limit));
}

static void up_sem(void) {
	struct sembuf up = {0, 1, 0};
	semop(semaphores, &up, 1);
}

static void make_word(void) { word = 0; }

static long futex(int operation, uint32_t value, const struct timespec *limit) {
	return syscall(SYS_futex, &word, operation, value, limit, NULL, 0);
}

static long block_futex(void) { return futex(FUTEX_WAIT, 0, NULL); }

static long block_futex_limit(void) {
	struct timespec limit = asked_time();
	return futex(FUTEX_WAIT, 0, &limit);
}

static void wake_futex(void) {
	word = 1;
	futex(FUTEX_WAKE, 1, NULL);
}

/* struct futex_waitv of linux/futex.h, which older headers lack. */
static long block_futex_waitv(void) {
#ifdef SYS_futex_waitv
	struct {
		uint64_t value, address;
		uint32_t flags, reserved;
	} waiter = {0, (uintptr_t)&word, 2 /* FUTEX_32 */, 0};
	return syscall(SYS_futex_waitv, &waiter, 1, 0, NULL, CLOCK_MONOTONIC);
#else
	errno = ENOSYS;
	return -1;
#endif
}

static void make_semaphore(void) { sem_init(&semaphore, 0, 0); }
static long block_sem_wait(void) { return sem_wait(&semaphore); }
static void post_semaphore(void) { sem_post(&semaphore); }

static long block_sem_timedwait(void) {
	struct timespec deadline = asked_deadline(CLOCK_REALTIME);
	return sem_timedwait(&semaphore, &deadline);
}

static long block_cond(void) {
	struct timespec deadline = asked_deadline(CLOCK_REALTIME);
	pthread_mutex_lock(&mutex);
	int code = pthread_cond_timedwait(&condition, &mutex, &deadline);
	pthread_mutex_unlock(&mutex);
	return from_pthread(code);
}

static volatile int held;

static void *hold_inheriting(void *unused) {
	pthread_mutex_lock(&inheriting);
	held = 1;
	live_sleep_us(ASKED_MS * 1000L);
	pthread_mutex_unlock(&inheriting);
	return unused;
}

/* The kernel's LOCK_PI needs a thread that owns the lock, so the owner is one. */
static void make_inheriting(void) {
	pthread_mutexattr_t attr;
	pthread_t owner;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inheriting, &attr);
	held = 0;
	pthread_create(&owner, NULL, hold_inheriting, NULL);
	pthread_detach(owner);
	while (!held)
		live_sleep_us(100);
}

static long block_inheriting(void) {
	int code = pthread_mutex_lock(&inheriting);
	if (code == 0)
		pthread_mutex_unlock(&inheriting);
	return from_pthread(code);
}

const struct blocker lock_blockers[] = {
	{"wait4", "restart", make_child, block_wait4, NULL},
	{"waitid", "restart", make_child, block_waitid, NULL},
	{"flock", "restart", make_flock, block_flock, unlock_flock},
	{"fcntl-ofd", "restart", make_ofd, block_ofd, unlock_ofd},
	{"fcntl-record", "restart", make_record_lock, block_record_lock, NULL},
	{"mq_receive", "restart", make_mq, block_mq, send_mq},
	{"msgrcv", "restart", make_msg, block_msgrcv, send_msg},
	{"msgsnd", "restart", fill_msg, block_msgsnd, take_msg},
	{"semop", "eintr", make_sem, block_semop, up_sem},
	{"semtimedop", "eintr", make_sem, block_semtimedop, NULL},
	{"futex", "restart", make_word, block_futex, wake_futex},
	{"futex-limit", "restart", make_word, block_futex_limit, NULL},
	{"futex_waitv", "restart", make_word, block_futex_waitv, wake_futex},
	{"futex-pi", "restart", make_inheriting, block_inheriting, NULL},
	{"sem_wait", "restart", make_semaphore, block_sem_wait, post_semaphore},
	{"sem_timedwait", "restart", make_semaphore, block_sem_timedwait, NULL},
	{"pthread_cond_timedwait", "restart", NULL, block_cond, NULL},
	{0},
};
