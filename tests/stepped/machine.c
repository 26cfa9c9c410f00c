// SPDX-License-Identifier: BSD-3-Clause
// In the place of what a run asks the machine for. The linker puts __wrap_x where x is called
// (meson.build has the list). Path: tests only.
#include "machine.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include <uuid/uuid.h>

#include "base/arena.h"
#include "base/clock.h"
#include "engine/run/around/cpu.h"
#include "engine/run/around/tester_delay.h"
#include "io/host/cpus.h"
#include "io/port_state.h"
#include "world.h"

#define SECOND 1000000000ull

static uint64_t leaks;
static struct rand ids;

void machine_reset(const struct world_settings *s)
{
	world_reset(s);
	device_reset(s->spread, s->stamps);
	ids.state = s->seed;
	leaks = 0;
}

void machine_leaked(uint64_t packets)
{
	leaks += packets;
}

uint64_t machine_leaks(void)
{
	return leaks;
}

// --- clocks ---

void __wrap_clock_calibrate(struct clock *c, unsigned ms)
{
	*c = (struct clock){.hz = 1e9,
		.anchor_tsc = world_now(),
		.anchor_ns = world_now(),
		.set = world_clock()};
}

void __wrap_clock_refine(struct clock *c)
{
}

uint64_t __wrap_clock_wall_ns(const struct clock *c, uint64_t tick)
{
	return WORLD_EPOCH_NS + tick;
}

uint64_t __wrap_clock_wall_tick(const struct clock *c, uint64_t wall_ns)
{
	return wall_ns - WORLD_EPOCH_NS;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	uint64_t ns = world_now() + (id == CLOCK_REALTIME ? WORLD_EPOCH_NS : 0);

	*t = (struct timespec){(time_t)(ns / SECOND), (long)(ns % SECOND)};
	return 0;
}

time_t __wrap_time(time_t *out)
{
	time_t now = (time_t)((WORLD_EPOCH_NS + world_now()) / SECOND);

	if (out)
		*out = now;
	return now;
}

int __wrap_usleep(useconds_t us)
{
	world_wait(1000ull * us);
	return 0;
}

// --- CPUs and memory ---

int __wrap_cpus_read(struct cpus *out)
{
	memset(out, 0, sizeof(*out));
	for (int cpu = 0; cpu < WORLD_CPUS; cpu++)
		CPU_SET_S(cpu, CPUS_SET_LEN, &out->allowed.set);
	out->quota = INFINITY;
	return 0;
}

int __wrap_sched_yield(void)
{
	return 0;
}

void __wrap_cpu_users_read(struct cpu_users *out)
{
	out->count = 0;
}

bool __wrap_cpu_read(struct cpu_times *out)
{
	return false;
}

uint64_t __wrap_memory_available(void)
{
	return 16ull << 30;
}

struct result_tester_delay *__wrap_tester_delay_measure(struct plan *p, struct arena *a)
{
	return NULL;
}

// A command takes no time of the run, however long it takes in truth.
pid_t __real_waitpid(pid_t, int *, int);
pid_t __wrap_waitpid(pid_t child, int *status, int options)
{
	pid_t ended = __real_waitpid(child, status, options & ~WNOHANG);
	bool signalled = ended < 0 && errno == EINTR && options & WNOHANG; // what it may pass on

	return signalled ? 0 : ended;
}

// Nobody watches: asked at each tick, a kernel would take most of the time of an idle hour.
int __wrap_accept4(int fd, struct sockaddr *from, socklen_t *len, int flags)
{
	errno = EAGAIN;
	return -1;
}

void __wrap_uuid_generate(uuid_t id)
{
	for (int i = 0; i < 2; i++) {
		uint64_t random = rand_next(&ids);

		memcpy(id + 8 * i, &random, 8);
	}
	id[6] = (unsigned char)(0x40 | (id[6] & 0x0f));
	id[8] = (unsigned char)(0x80 | (id[8] & 0x3f));
}

// --- ports ---

int __wrap_port_preflight(
	const struct port_settings *p, const struct host_settings *h, struct io_error *e)
{
	return 0;
}

int __wrap_io_start(const struct host_settings *h, const struct lcore_plan *lcores,
	const struct port_settings *ports, unsigned count, struct io_error *e)
{
	return 0;
}

int __wrap_io_drop_privileges(const struct port_settings *ports, unsigned count, struct io_error *e)
{
	return 0;
}

void __wrap_io_stop(void)
{
}
