/* stuckfs FOLDER FILE: a file system in user space (FUSE) at FOLDER that has one file, a copy of FILE with its name. It
 * says R when it is mounted. While it is stopped (SIGSTOP) nothing that reaches it is answered, as where the server of
 * a network file system is gone; when it ends what waits for it fails. Names and attributes are asked again each time.
 *
 * Source: linux/fuse.h, fuse(4). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER = FUSE_ROOT_ID, FILE_NODE };

static const char *name;
static char *content;
static size_t size;
static int device;

static void die(const char *what) {
	perror(what);
	exit(1);
}

static void answer(struct fuse_in_header *in, int error, const void *data, size_t n) {
	static char out[(1 << 20) + 4096];
	struct fuse_out_header h = {.len = sizeof h + n, .error = -error, .unique = in->unique};
	memcpy(out, &h, sizeof h);
	memcpy(out + sizeof h, data, n);
	if (write(device, out, h.len) < 0 && errno != ENOENT)
		die("write");
}

static struct fuse_attr attributes(uint64_t node) {
	struct fuse_attr a = {.ino = node, .nlink = 1, .blksize = 4096};
	a.mode = node == FOLDER ? S_IFDIR | 0755 : S_IFREG | 0755;
	a.size = node == FOLDER ? 0 : size;
	return a;
}

static void serve(struct fuse_in_header *in, char *arg) {
	switch (in->opcode) {
	case FUSE_INIT: {
		struct fuse_init_in *i = (void *)arg;
		struct fuse_init_out o = {.major = FUSE_KERNEL_VERSION, .minor = i->minor < 31 ? i->minor : 31,
			.max_readahead = i->max_readahead, .max_write = 4096, .max_background = 16};
		answer(in, 0, &o, sizeof o);
		return;
	}
	case FUSE_LOOKUP: {
		struct fuse_entry_out o = {.nodeid = FILE_NODE, .attr = attributes(FILE_NODE)};
		int found = in->nodeid == FOLDER && !strcmp(arg, name);
		answer(in, found ? 0 : ENOENT, &o, found ? sizeof o : 0);
		return;
	}
	case FUSE_GETATTR: {
		struct fuse_attr_out o = {.attr = attributes(in->nodeid)};
		answer(in, 0, &o, sizeof o);
		return;
	}
	case FUSE_OPEN:
	case FUSE_OPENDIR: {
		struct fuse_open_out o = {0};
		answer(in, 0, &o, sizeof o);
		return;
	}
	case FUSE_READ: {
		struct fuse_read_in *r = (void *)arg;
		size_t at = r->offset < size ? r->offset : size;
		size_t n = r->size < size - at ? r->size : size - at;
		answer(in, 0, content + at, n < 1 << 20 ? n : 1 << 20);
		return;
	}
	case FUSE_STATFS: {
		struct fuse_statfs_out o = {.st = {.bsize = 4096, .namelen = 255}};
		answer(in, 0, &o, sizeof o);
		return;
	}
	case FUSE_READDIR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(in, 0, "", 0);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		answer(in, ENOSYS, "", 0);
	}
}

int main(int argc, char **argv) {
	static char request[1 << 20];
	char options[128];
	struct stat st;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc != 3)
		return 2;
	int file = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &st) < 0)
		die(argv[2]);
	size = st.st_size;
	content = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
	if (content == MAP_FAILED)
		die("mmap");
	name = strrchr(argv[2], '/') ? strrchr(argv[2], '/') + 1 : argv[2];
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (device < 0)
		die("/dev/fuse");
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
	if (mount("stuckfs", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		die("mount");
	if (write(1, "R\n", 2) != 2)
		return 1;
	for (;;) {
		ssize_t n = read(device, request, sizeof request);
		if (n < 0 && errno == ENODEV) // unmounted
			return 0;
		if (n < (ssize_t)sizeof(struct fuse_in_header)) {
			if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
				continue;
			die("read");
		}
		serve((void *)request, request + sizeof(struct fuse_in_header));
	}
}
