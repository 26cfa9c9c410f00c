// SPDX-License-Identifier: BSD-3-Clause
// Stamps are Unix times. Each burst reads that clock together with the tick counter, so a stamp
// becomes an age, and the age a tick: errors and slow adjustments of the kernel's clock do not
// matter. A step of the clock is detected, and one burst then uses its own time. Path: driver |
// cold (stamps_of). The thread that owns the queue.
#include "io/driver/stamps.h"

#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <rte_mbuf_dyn.h>

#include "base/clock.h"
#include "io/burst.h"
#include "io/driver/driver.h"

#define MICROSECOND 1000
#define SET_NS      20000 // a larger deviation than this and SET_SHARE of the elapsed time is a step
#define SET_SHARE   0.001
#define MISSES      4 // bursts in a row without an expected frame: the position is wrong

int stamps_field(uint64_t *flag)
{
	static uint64_t registered;
	static int at;

	if (!registered && rte_mbuf_dyn_rx_timestamp_register(&at, &registered) < 0)
		return 0;
	*flag = registered;
	return at;
}

// Where the memory of a socket's packet ring lies: the process's map names it by its inode.
static const uint8_t *ring_of(int fd)
{
	unsigned long long from, inode;
	const uint8_t *ring = NULL;
	char line[512];
	struct stat st;
	FILE *maps = fstat(fd, &st) == 0 ? fopen("/proc/self/maps", "re") : NULL;

	if (!maps)
		return NULL;
	while (!ring && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%*x %*s %*x %*s %llu", &from, &inode) == 2 &&
			inode == (unsigned long long)st.st_ino && strstr(line, "socket:"))
			ring = (const uint8_t *)(uintptr_t)from;
	fclose(maps);
	return ring;
}

struct stamps stamps_of(const struct port *port, uint16_t queue)
{
	const struct driver *d = port->driver;
	struct stamps s = {.unit = d->stamps == STAMPS_US ? MICROSECOND : 1};

	if (d->stamps == STAMPS_RING) {
		if (port->drops.count == port->queues)
			s.ring = ring_of(port->drops.sockets[queue]);
		driver_packet_ring(port->settings, &s.frame, &s.frames);
		s.known = s.ring != NULL;
	} else if (d->stamps != STAMPS_NONE && !port_is_files(port->settings) &&
		   !port->settings->answers) {
		s.at = stamps_field(&s.flag);
		s.known = s.at != 0;
	}
	return s;
}

static const struct tpacket2_hdr *ring_frame(const struct stamps *s, uint32_t i)
{
	return (const void *)(s->ring + (size_t)i * s->frame);
}

static bool ring_is_full(const struct tpacket2_hdr *h)
{
	return __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER;
}

static uint64_t ring_stamp(const struct tpacket2_hdr *h)
{
	return h->tp_sec * UINT64_C(1000000000) + h->tp_nsec;
}

// Read the stamps of frames waiting in the ring before the driver takes them, because the kernel
// may refill them afterwards. Returns their number.
static uint16_t ring_read(const struct stamps *s, uint64_t *wall, uint16_t n)
{
	uint32_t frame = s->next;
	uint16_t i = 0;

	for (; i < n; i++) {
		const struct tpacket2_hdr *h = ring_frame(s, frame);

		if (!ring_is_full(h))
			break;
		wall[i] = ring_stamp(h);
		frame = frame + 1 < s->frames ? frame + 1 : 0;
	}
	return i;
}

// Finds the position after the last frame taken by the driver: of the frames that the kernel may
// fill, it has the latest stamp. The ring was read before the run, so its position is unknown.
static uint32_t ring_place(const struct stamps *s)
{
	uint64_t latest = 0;
	uint32_t place = 0;

	for (uint32_t i = 0; i < s->frames; i++) {
		const struct tpacket2_hdr *h = ring_frame(s, i);

		if (ring_is_full(h) || ring_stamp(h) < latest)
			continue;
		latest = ring_stamp(h);
		place = i + 1 < s->frames ? i + 1 : 0;
	}
	return place;
}

// Advance past a burst; `read` of its packets had their frames in the expected place.
static void ring_advance(struct stamps *s, uint16_t got, uint16_t read)
{
	s->missed = read ? 0 : s->missed + 1;
	if (s->missed == MISSES)
		s->next = ring_place(s);
	else
		s->next = s->next + got < s->frames ? s->next + got : s->next + got - s->frames;
}

// The tick of a stamp; `now` if the stamp is impossible: in the future, or before the run.
static uint64_t tick_of(const struct clock *c, uint64_t now, uint64_t wall_now, uint64_t wall)
{
	uint64_t age = wall_now - wall, ticks;

	if (wall == 0 || age > INT64_MAX)
		return now;
	ticks = clock_ticks(c, age);
	return ticks < now ? now - ticks : now;
}

// Was the clock set since the last reading? Then earlier stamps are useless.
static bool was_set(struct stamps *s, const struct clock *c, uint64_t now, uint64_t wall)
{
	double since = clock_ns(c, now - s->tick), off = (double)(int64_t)(wall - s->wall) - since;
	bool first = s->tick == 0;

	s->tick = now;
	s->wall = wall;
	return !first && (off < 0 ? -off : off) > SET_NS + SET_SHARE * since;
}

uint16_t stamps_rx(struct stamps *s, const struct port_queue *from, struct rte_mbuf **pkts,
	uint16_t n, const struct clock *c, uint64_t *at, uint64_t *came)
{
	uint16_t read = s->ring ? ring_read(s, came, n) : 0, got;
	uint64_t wall;

	got = burst_rx(from->device, from->number, pkts, n);
	if (got == 0)
		return 0;
	if (s->ring)
		ring_advance(s, got, read);
	clock_pair(c, at, &wall);
	if (was_set(s, c, *at, wall))
		wall = 0;
	for (uint16_t i = 0; i < got; i++) {
		uint64_t stamp = i < read ? came[i] : 0;

		if (!s->ring && pkts[i]->ol_flags & s->flag)
			stamp = *RTE_MBUF_DYNFIELD(pkts[i], s->at, uint64_t *) * s->unit +
			        s->unit / 2;
		came[i] = tick_of(c, *at, wall, stamp);
	}
	return got;
}
