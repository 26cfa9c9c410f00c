// SPDX-License-Identifier: BSD-3-Clause
// For LD_PRELOAD: counts the steps of a program's main thread, which are its allocations and its
// calls of the kernel, and lets one of them fail. Calls that undo something (close, unlink, munmap)
// are no steps, and neither is writing to standard error.
//
// FAIL_STEP: the number of the step that fails, from 1; none: no step does.
// FAIL_LOG: a file that gets "failed NAME" and the stack then, and "steps N" at the end. Without
// FAIL_STEP also "kinds" and a line "NUMBER NAME" for the first step of each stack.
#undef _FILE_OFFSET_BITS // open and open64 are two
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define FRAMES 48
#define KINDS  (1u << 16) // stacks

// What glibc's own are called.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *memalign(size_t align, size_t size);

static __thread bool counted; // is this the main thread, outside of this file?
static unsigned long steps, wanted;
static const char *log_path;

static struct kind {
	uint64_t stack;
	unsigned long first;
	const char *name;
} kinds[KINDS];

static int open_log(void)
{
	return (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_CREAT | O_APPEND, 0666);
}

static void note_failure(const char *name)
{
	void *frames[FRAMES];
	int fd = open_log();

	dprintf(fd, "failed %s\n", name);
	backtrace_symbols_fd(frames, backtrace(frames, FRAMES), fd);
	syscall(SYS_close, fd);
}

static void note_end(void)
{
	FILE *f = fdopen(open_log(), "a");

	fprintf(f, "steps %lu\n", steps);
	if (!wanted)
		fprintf(f, "kinds\n");
	for (unsigned i = 0; i < KINDS; i++)
		if (kinds[i].first)
			fprintf(f, "%lu %s\n", kinds[i].first, kinds[i].name);
	fclose(f);
}

static void note_kind(const char *name)
{
	void *frames[FRAMES];
	int count = backtrace(frames, FRAMES);
	uint64_t stack = 1;
	unsigned at;

	for (int i = 0; i < count; i++)
		stack = (stack ^ (uintptr_t)frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
	for (at = stack >> 48; kinds[at].first && kinds[at].stack != stack;)
		at = (at + 1) % KINDS;
	if (!kinds[at].first)
		kinds[at] = (struct kind){stack, steps, name};
}

// Must this call fail?
static bool step(const char *name, int error)
{
	int before = errno;
	bool fails;

	if (!counted)
		return false;
	counted = false;
	fails = ++steps == wanted;
	if (fails)
		note_failure(name);
	else if (!wanted)
		note_kind(name);
	counted = true;
	errno = fails ? error : before;
	return fails;
}

__attribute__((constructor)) static void begin(void)
{
	const char *number = getenv("FAIL_STEP");
	void *frame;

	backtrace(&frame, 1); // loads what it needs
	log_path = getenv("FAIL_LOG");
	wanted = number ? strtoul(number, NULL, 10) : 0;
	unsetenv("LD_PRELOAD"); // not for its children
	counted = true;
}

__attribute__((destructor)) static void end(void)
{
	bool was = counted;

	counted = false;
	if (was && log_path)
		note_end();
}

void *malloc(size_t size)
{
	return step("malloc", ENOMEM) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return step("calloc", ENOMEM) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return size && step("realloc", ENOMEM) ? NULL : __libc_realloc(p, size);
}

void *memalign(size_t align, size_t size)
{
	return step("memalign", ENOMEM) ? NULL : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return step("aligned_alloc", ENOMEM) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	if (step("posix_memalign", ENOMEM))
		return ENOMEM;
	*p = __libc_memalign(align, size);
	return *p ? 0 : ENOMEM;
}

#define NEXT(name, type)                                                                           \
	static __typeof__(type) next;                                                              \
	if (!next) {                                                                               \
		bool was = counted;                                                                \
		counted = false;                                                                   \
		next = (__typeof__(type))dlsym(RTLD_NEXT, name);                                   \
		counted = was;                                                                     \
	}

// type name(params): fails with that value and errno.
#define STEP(type, name, params, args, value, error)                                               \
	type name params                                                                           \
	{                                                                                          \
		NEXT(#name, type(*) params)                                                        \
		return step(#name, error) ? value : next args;                                     \
	}

// The mode is there only for a new file.
#define OPEN(name)                                                                                 \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		va_list list;                                                                      \
		mode_t mode;                                                                       \
		NEXT(#name, int (*)(const char *path, int flags, ...))                             \
		va_start(list, flags);                                                             \
		mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;                   \
		va_end(list);                                                                      \
		return step(#name, EIO) ? -1 : next(path, flags, mode);                            \
	}

OPEN(open)
OPEN(open64)
STEP(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
STEP(FILE *, fopen64, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
STEP(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL, ENOMEM)
STEP(FILE *, tmpfile, (void), (), NULL, EMFILE)
STEP(DIR *, opendir, (const char *path), (path), NULL, EMFILE)
STEP(int, mkostemp, (char *path, int flags), (path, flags), -1, ENOSPC)
STEP(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1, EMFILE)
STEP(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n), -1, EIO)
STEP(ssize_t, pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at), -1, EIO)
STEP(ssize_t, pread64, (int fd, void *p, size_t n, off64_t at), (fd, p, n, at), -1, EIO)
STEP(ssize_t, readlink, (const char *path, char *p, size_t n), (path, p, n), -1, EIO)
STEP(int, fsync, (int fd), (fd), -1, EIO)
STEP(int, rename, (const char *from, const char *to), (from, to), -1, EIO)
STEP(int, ftruncate, (int fd, off_t size), (fd, size), -1, ENOSPC)
STEP(int, ftruncate64, (int fd, off64_t size), (fd, size), -1, ENOSPC)
STEP(int, stat, (const char *path, struct stat *st), (path, st), -1, EIO)
STEP(int, fstat, (int fd, struct stat *st), (fd, st), -1, EIO)
STEP(int, access, (const char *path, int mode), (path, mode), -1, EIO)
STEP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, ENOSPC)
STEP(int, flock, (int fd, int how), (fd, how), -1, ENOLCK)
STEP(int, dup, (int fd), (fd), -1, EMFILE)
STEP(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t from),
	(at, n, prot, flags, fd, from), MAP_FAILED, ENOMEM)
STEP(void *, mmap64, (void *at, size_t n, int prot, int flags, int fd, off64_t from),
	(at, n, prot, flags, fd, from), MAP_FAILED, ENOMEM)
STEP(int, socket, (int family, int type, int protocol), (family, type, protocol), -1, ENOBUFS)
STEP(int, bind, (int fd, const struct sockaddr *name, socklen_t n), (fd, name, n), -1, ENOMEM)
STEP(int, connect, (int fd, const struct sockaddr *name, socklen_t n), (fd, name, n), -1, ENOMEM)
STEP(int, setsockopt, (int fd, int level, int what, const void *p, socklen_t n),
	(fd, level, what, p, n), -1, ENOMEM)
STEP(int, getsockopt, (int fd, int level, int what, void *p, socklen_t *n), (fd, level, what, p, n),
	-1, ENOBUFS)
STEP(ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags), -1, ENOBUFS)
STEP(ssize_t, sendto,
	(int fd, const void *p, size_t n, int flags, const struct sockaddr *to, socklen_t len),
	(fd, p, n, flags, to, len), -1, ENOBUFS)
STEP(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1, ENOBUFS)
STEP(ssize_t, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags), -1, ENOMEM)
STEP(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags), -1, ENOMEM)
STEP(int, epoll_create, (int size), (size), -1, EMFILE)
STEP(int, epoll_create1, (int flags), (flags), -1, EMFILE)
STEP(int, epoll_ctl, (int fd, int what, int other, struct epoll_event *e), (fd, what, other, e), -1,
	ENOSPC)
STEP(int, eventfd, (unsigned n, int flags), (n, flags), -1, EMFILE)
STEP(int, timerfd_create, (int clock, int flags), (clock, flags), -1, EMFILE)
STEP(int, pipe, (int fd[2]), (fd), -1, EMFILE)
STEP(int, pipe2, (int fd[2], int flags), (fd, flags), -1, EMFILE)
STEP(pid_t, fork, (void), (), -1, EAGAIN)
STEP(int, pthread_create,
	(pthread_t * thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg),
	(thread, attr, start, arg), EAGAIN, EAGAIN)
STEP(int, sched_setaffinity, (pid_t pid, size_t n, const cpu_set_t *set), (pid, n, set), -1, EINVAL)
STEP(int, sched_getaffinity, (pid_t pid, size_t n, cpu_set_t *set), (pid, n, set), -1, EINVAL)

// Standard error has nothing behind it.
ssize_t write(int fd, const void *p, size_t n)
{
	NEXT("write", ssize_t(*)(int fd, const void *p, size_t n))
	return fd != STDERR_FILENO && step("write", ENOSPC) ? -1 : next(fd, p, n);
}

// What could not be written is lost, and the stream knows it.
int fflush(FILE *f)
{
	NEXT("fflush", int (*)(FILE * f))
	int rc = next(f);

	if (!f || f == stderr || !step("fflush", ENOSPC))
		return rc;
	f->_flags |= 0x20; // _IO_ERR_SEEN of libio
	return EOF;
}

int fclose(FILE *f)
{
	NEXT("fclose", int (*)(FILE * f))
	int rc = next(f);

	return step("fclose", ENOSPC) ? EOF : rc;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;
	NEXT("ioctl", int (*)(int fd, unsigned long request, ...))
	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	return step("ioctl", EIO) ? -1 : next(fd, request, arg);
}

// Questions do not fail.
static int fcntl_step(int fd, int what, void *arg, int (*next)(int fd, int what, ...))
{
	bool makes = what == F_DUPFD || what == F_DUPFD_CLOEXEC || what == F_SETLK;

	return makes && step("fcntl", EMFILE) ? -1 : next(fd, what, arg);
}

#define FCNTL(name)                                                                                \
	int name(int fd, int what, ...)                                                            \
	{                                                                                          \
		va_list list;                                                                      \
		void *arg;                                                                         \
		NEXT(#name, int (*)(int fd, int what, ...))                                        \
		va_start(list, what);                                                              \
		arg = va_arg(list, void *);                                                        \
		va_end(list);                                                                      \
		return fcntl_step(fd, what, arg, next);                                            \
	}

FCNTL(fcntl)
FCNTL(fcntl64)

// bpf(2), perf_event_open(2), capset(2) and others without a function of their own.
long syscall(long number, ...)
{
	long a[6];
	va_list list;
	NEXT("syscall", long (*)(long number, ...))
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	return step("syscall", ENOMEM) ? -1 : next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
