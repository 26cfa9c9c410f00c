// SPDX-License-Identifier: BSD-3-Clause
// Captured output of DPDK, libxdp and libpcap, and the table of complaints we can translate.
// Path: cold.
#include "io/driver/explain.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"
#include "io/driver/driver.h"

#define SAID_MAX (256 * 1024)

int io_fail(struct io_error *e, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, args);
	va_end(args);
	return err;
}

int port_fail(struct io_error *e, const struct port_settings *p, int err, const char *fmt, ...)
{
	size_t used;
	va_list args;

	io_fail(e, err, "port %s (%s%s%s): ", p->name ? p->name : "?", driver_of(p)->name,
		p->device ? ", " : "", p->device ? p->device : "");
	used = strlen(e->text);
	va_start(args, fmt);
	vsnprintf(e->text + used, sizeof(e->text) - used, fmt, args);
	va_end(args);
	return err;
}

// *saved is a copy, or -1 if fd is closed. Returns false if no copy could be made.
static bool save_fd(int fd, int *saved)
{
	*saved = dup(fd);
	return *saved >= 0 || errno == EBADF;
}

void capture_begin(struct capture *c)
{
	fflush(stdout);
	fflush(stderr);
	c->saved_out = -1;
	c->saved_err = -1;
	c->memory = memfd_create("said", MFD_CLOEXEC);
	if (c->memory < 0)
		return;
	if (!save_fd(STDOUT_FILENO, &c->saved_out) || !save_fd(STDERR_FILENO, &c->saved_err)) {
		if (c->saved_out >= 0)
			close(c->saved_out);
		close(c->memory);
		c->memory = -1; // nothing is captured
		return;
	}
	dup2(c->memory, STDOUT_FILENO);
	dup2(c->memory, STDERR_FILENO);
}

// A descriptor that was closed before is closed again.
static void restore_fd(int saved, int fd)
{
	if (saved < 0) {
		close(fd);
		return;
	}
	dup2(saved, fd);
	close(saved);
}

static char *read_said(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	size_t len = size < 0 ? 0 : size > SAID_MAX ? SAID_MAX : (size_t)size;
	char *said = calloc(1, len + 1);
	ssize_t got;

	if (!said)
		arena_exhausted();
	got = pread(fd, said, len, size - (off_t)len);
	for (ssize_t i = 0; i < got; i++)
		if (!said[i])
			said[i] = ' ';
	return said;
}

static void show(const char *said)
{
	while (*said) {
		int len = (int)strcspn(said, "\n");

		if (len)
			log_debug("| %.*s", len, said);
		said += len;
		said += *said == '\n';
	}
}

char *capture_end(struct capture *c)
{
	char *said;

	if (c->memory < 0) {
		said = calloc(1, 1);
		if (!said)
			arena_exhausted();
		return said;
	}
	fflush(stdout);
	fflush(stderr);
	restore_fd(c->saved_out, STDOUT_FILENO);
	restore_fd(c->saved_err, STDERR_FILENO);
	said = read_said(c->memory);
	close(c->memory);
	if (log_is_verbose())
		show(said);
	return said;
}

// First match wins. {device} and {package} are filled in; err 0 keeps the error of the call.
static const struct complaint {
	const char *needle;
	int err;
	const char *cause;
} complaints[] = {
	{"XDP program already", -EBUSY,
		"an XDP program is already attached: `ip link set dev {device} xdp off`, or force: "
		"true"},
	{"XDP program(s) already", -EBUSY,
		"an XDP program is already attached: `ip link set dev {device} xdp off`, or force: "
		"true"},
	{"not using a dispatcher", -EBUSY,
		"an XDP program is already attached: `ip link set dev {device} xdp off`, or force: "
		"true"},
	{"Peer MTU is too large to set XDP", -EINVAL,
		"the MTU of its veth peer is too large for XDP: `ip link set dev PEER mtu 1500`"},
	{"single-buffer XDP requires", -EINVAL,
		"its MTU is too large for XDP: `ip link set dev {device} mtu 1500`"},
	{"number of rx queues not less than peer tx queues", -EINVAL,
		"its veth peer has more transmit queues than it has receive queues: "
		"`ethtool -L PEER tx 1`"},
	{"does not support XDP in native mode", -ENOTSUP,
		"the interface under it has no XDP of its own: use driver: af_packet (-D "
		"af_packet)"},
	{"XDP is not supported", -ENOTSUP, "its kernel driver has no XDP: use driver: af_packet"},
	{"queue not available", -EBUSY,
		"its queues are used by another XDP socket: end the program that has them"},
	{"Couldn't get hugepage", -ENOMEM,
		"no hugepages: `echo 512 > /proc/sys/vm/nr_hugepages`, or host.memory: pages"},
	{"Cannot get hugepage information", -ENOMEM,
		"no hugepages: `echo 512 > /proc/sys/vm/nr_hugepages`, or host.memory: pages"},
	{"No free hugepages", -ENOMEM,
		"no free hugepages: `echo 512 > /proc/sys/vm/nr_hugepages`, or host.memory: pages"},
	{"no free 2048 kB hugepages", -ENOMEM,
		"no free hugepages: `echo 512 > /proc/sys/vm/nr_hugepages`, or host.memory: pages"},
	{"Cannot use IOVA as 'PA'", -EPERM,
		"the box has no IOMMU and physical addresses need root: run as root, "
		"or boot with intel_iommu=on or amd_iommu=on (`ddiperf bind` has the steps)"},
	{"VFIO group is not viable", -EBUSY,
		"other devices of its IOMMU group are still with a kernel driver: "
		"`ddiperf bind` lists them"},
	{"/dev/vfio/vfio", -ENODEV, "VFIO is not available: `ddiperf bind {device}`"},
	{"unsupported cpu type", -ENOTSUP, "DPDK does not run on this CPU"},
	{"/dev/net/tun", -ENODEV, "/dev/net/tun is not usable: `modprobe tun`, and run as root"},
	{"/dev/vhost-net", -ENODEV,
		"/dev/vhost-net is not usable: `modprobe vhost-net`, and run as root"},
	{"failed to parse device", -ENOENT, "DPDK has no such driver: `apt-get install {package}`"},
	{"failed to initialize network device", -ENODEV, "its DPDK driver could not start it"},
	{"not enough memory", -ENOMEM, "not enough packet memory: raise host.memory_size"},
	{"Cannot allocate memory", -ENOMEM,
		"not enough memory: raise host.memory_size, or `ulimit -l unlimited`"},
	{"No such device", -ENODEV, "there is no such device"},
	{"Connection refused", -ECONNREFUSED, "no process listens on {device}"},
	{"Operation not permitted", -EPERM,
		"the kernel does not permit it: run as root (`ddiperf doctor` lists missing "
		"privileges)"},
	{"Permission denied", -EPERM,
		"the kernel does not permit it: run as root (`ddiperf doctor` lists missing "
		"privileges)"},
};

static void append(struct io_error *e, const char *text, size_t len)
{
	size_t used = strlen(e->text);

	if (len > sizeof(e->text) - 1 - used)
		len = sizeof(e->text) - 1 - used;
	memcpy(e->text + used, text, len);
	e->text[used + len] = '\0';
}

static void append_cause(struct io_error *e, const struct port_settings *p, const char *cause)
{
	const char *device = p && p->device ? p->device : "the device";
	const char *package = p ? driver_of(p)->package : NULL;

	while (*cause) {
		size_t len = strcspn(cause, "{");

		append(e, cause, len);
		cause += len;
		if (!strncmp(cause, "{device}", 8)) {
			append(e, device, strlen(device));
			cause += 8;
		} else if (!strncmp(cause, "{package}", 9)) {
			package = package ? package : "librte-meta-net";
			append(e, package, strlen(package));
			cause += 9;
		}
	}
}

static bool has_any(const char *line, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(line, *words))
			return true;
	return false;
}

// Is the line an error message, neither harmless noise of every start nor a mere hint at an error?
static bool is_telling(const char *line)
{
	static const char *const telling[] = {"error", "fail", "cannot", "can't", "could not",
		"couldn't", "unable", "invalid", "no such", "not found", "not supported", "denied",
		NULL};
	static const char *const noise[] = {"mp action callback", "xdp_pass", "dispatcher",
		"attach the device", "attach device on primary", "Failed to start driver", NULL};

	return has_any(line, telling) && !has_any(line, noise);
}

// "EAL: ", "libbpf: ", "eth_kernel_bind(): " identify the source, not the subject.
static const char *without_speaker(const char *line)
{
	for (unsigned i = 0; i < 3; i++) {
		size_t len = strcspn(line, " ");

		if (len < 2 || line[len - 1] != ':' || !line[len])
			return line;
		line += len + 1;
	}
	return line;
}

// The kernel's own words, otherwise the first line that looks like an error (later ones repeat it),
// otherwise the last.
static const char *telling_line(char *said)
{
	const char *last = NULL, *telling = NULL, *kernel = NULL;
	char *rest = said;

	for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
		const char *words = strstr(line, "Kernel error message: ");

		line[strcspn(line, "\r")] = '\0';
		if (!line[strspn(line, " \t")])
			continue;
		last = line;
		if (words && !kernel)
			kernel = words + strlen("Kernel error message: ");
		if (!telling && is_telling(line))
			telling = line;
	}
	last = kernel ? kernel : telling ? telling : last;
	return last ? without_speaker(last) : NULL;
}

int explain(struct io_error *e, const struct port_settings *p, int err, char *said)
{
	const char *line;

	err = err == -1 ? -EIO : err; // many drivers return -1 without meaning EPERM
	if (p)
		port_fail(e, p, err, "%s", "");
	else
		io_fail(e, err, "%s", "");
	for (unsigned i = 0; i < sizeof(complaints) / sizeof(complaints[0]); i++) {
		if (!strstr(said, complaints[i].needle))
			continue;
		append_cause(e, p, complaints[i].cause);
		return complaints[i].err ? complaints[i].err : err;
	}
	line = telling_line(said);
	if (line && strstr(line, "attach device on primary"))
		line = "the DPDK driver does not take these arguments";
	line = line ? line : strerror(-err);
	append(e, line, strlen(line));
	return err;
}
