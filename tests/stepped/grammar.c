// SPDX-License-Identifier: BSD-3-Clause
// The rows, and their expansion. Path: tests only.
#include "grammar.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"

// A row is a name and its alternatives, separated by " | "; "4* " in front of one makes it that
// many times as likely. <name> stands for one of the alternatives of that row, <=name> for the same
// one wherever it occurs in a case, <1..100> for a whole number whose digits are as likely to be
// few as many, <n> for the number of the item. The text is JSON, but words need no quotes, and a
// comma too many does no harm. Slow cases have rows of their own, "slow name" instead of "name".
static const char *const rows[][2] = {
	{"config", "{<runs>ports:[{name:tester,driver:ring,device:dut,<=workers>,<=vlans>"
		   "addresses:[198.18.0.1/24,'2001:db8::1/64']},"
		   "{name:dut,driver:ring,device:tester,<=servers>,<=vlans>"
		   "addresses:[198.18.0.2/24,198.18.0.3/24,198.18.0.4/24,"
		   "'2001:db8::2/64','2001:db8::3/64']}],"
		   "responder:{port:dut,<tcp_server>},<criteria><output><series>}"},
	{"workers", "4* cpus:['1'] | 2* cpus:['1','2'] | cpus:['1','2','3','4']"},
	{"servers", "4* cpus:['8'] | 2* cpus:['8','9'] | cpus:['8','9','10','11']"},
	{"vlans", "6* | vlans:['<1..4000>'], | vlans:['7','<1..4000>'],"},
	{"runs",
		"12* run:{seed:'<1..1000>',warmup:<warmup>,duration:<1..60>s,interval:<interval>}, "
		"| 2* run:{seed:'<1..1000>',warmup:<warmup>,duration:<8..60>s},stop:[<stop>], | "
		"run:{seed:'1',warmup:<warmup>,duration:<60..600>s,interval:<10..300>s}, | "
		"run:{seed:'1',warmup:<warmup>,duration:<1..5>s,repeat:{min:'2',max:'3'}},"},
	{"slow runs",
		"run:{seed:'<1..1000>',warmup:<warmup>,duration:<1..4>h,interval:<10..99>s},"},
	{"warmup", "3* 0s | <1..3000>ms"},
	{"interval", "4* 1s | <100..900>ms | <1..7>s"},
	{"stop", "'loss > <1..20>% for 7s' | 'p99 > <1..900>ms for 7s'"},
	{"criteria", "3* | criteria:['loss <= <1..10>%'], | "
		     "criteria:['p99 <= <1..90>ms','failed == 0'],"},
	{"output", "6* | output:{percentiles:['95','99.99']},"},
	{"series",
		"30* | search:{variable:traffic.i1.load.rate,from:'10',to:'<20..900>',warmup:100ms,"
		"trial:<100..900>ms,final:1s,settle:100ms,goals:[{loss:<0..9>%},{p99:<1..90>ms}]}"},
	{"tcp_server", "6* | tcp:{queries_per_connection:'<1..100>',<reset>} | "
		       "tcp:{idle:<10..2000>ms} | tcp:{accept:<accept>} | "
		       "tcp:{connections:'<1..200>',full:<full>} | tcp:{window:<1..64>KiB}"},
	{"reset", "2* | reset:true"},
	{"accept", "silent | refuse | drop"},
	{"full", "refuse | drop"},

	{"item", "10* {name:i<n>,timeout:<timeout>,<load><source>,<udp>} | "
		 "4* {name:i<n>,timeout:<timeout>,<load>,<stream>} | "
		 "5* {name:i<n>,timeout:<timeout>,<load>,<clients4>} | "
		 "5* {name:i<n>,timeout:<timeout>,<load>,<clients6>} | 2* <living>"},
	{"slow item", "{name:i<n>,timeout:<timeout>,<load><source>,<to><dns>} | "
		      "{name:i<n>,timeout:<timeout>,<load>,<stream>} | "
		      "{name:i<n>,timeout:<timeout>,<load>,<clients4>} | "
		      "{name:i<n>,timeout:<timeout>,<load>,<clients6>}"},
	{"living", "{name:i<n>,timeout:<timeout>,dhcp4:{<who4><life><pace4>}} | "
		   "{name:i<n>,timeout:<timeout>,server:'2001:db8::2',dhcp6:{<who6><life><leases6><"
		   "pace6>}}"},
	{"life", "clients:'<10..500>',life:{t1:<2..40>s,speed:'<1..10>',power_on:<1..9>s,reboot:5%,"
		 "forget:5%,release:10%,away:<1..9>s,retry:<1..9>s},"},
	{"timeout", "4* 1s | <100..900>ms | <1..10>s"},
	{"load", "8* load:{rate:'<rate>'<arrivals><window>} | 3* "
		 "load:{outstanding:'<1..50>',<few>} | "
		 "load:{ramp:{from:'<1..100>',to:'<rate>',over:<100..1000>ms}} | "
		 "load:{steps:[{rate:'<rate>',for:<1..2>s},{rate:'0',for:1s},{rate:'<rate>',"
		 "for:1s}]} | "
		 "load:{wave:{mean:'<100..500>',amplitude:'<1..100>',period:<1..9>s}} | "
		 "load:{burst:{size:'<1..200>',every:<200..3000>ms}} | "
		 "load:{storm:{clients:'<1..3000>',within:<0..3000>ms}}"},
	{"slow load", "load:{rate:'<1..4>'<arrivals>}"},
	{"rate", "6* <5..300> | <300..2000>"},
	{"arrivals", "2* | ,arrivals:poisson"},
	{"window", "6* | ,start_at:<1..900>ms | ,stop_at:<300..900>ms | ,total:'<1..1000>'"},
	{"few", "total:'<1..20000>' | total:'<1..20000>',ramp_up:<1..3>s"},
	{"source", "5* | ,source:{ports:[20000-<20100..29999>]}"},

	{"udp", "4* <to><dns> | server:<server>,<dns_tc> | <to>ntp:{version:'<1..4>'} | 2* "
		"<to>echo:{size:<20..1400>B,fill:<fill>}"
		" | <to>echo:{test:stream}"},
	{"to", "3* server:198.18.0.2, | server:'2001:db8::2', | "
	       "server:198.18.0.2,servers:[198.18.0.3,198.18.0.4],spread:<spread>, | "
	       "server:'2001:db8::2',servers:['2001:db8::3'],spread:<spread>,"},
	{"spread", "round_robin | hash | stub,attempts:'<1..3>',rotate:<bool>"},
	{"bool", "true | false"},
	{"fill", "counting | zeros | hex | random"},
	{"dns", "dns:{names:[<name>,<name>],<flags><edns><expect>}"},
	{"dns_tc", "dns:{names:[<name>,<name>],<flags><edns>tc:tcp,tcp:{<connections>},<expect>}"},
	{"name", "3* 'h{0-999}.example.com <type>' | '{random:12}.example.com <type>' | "
		 "'<n>.example <type>'"},
	{"type", "A | AAAA | TXT | NS | MX | SOA | ANY"},
	{"flags", "4* | case_0x20:true, | rd:false,ad:true, | order:random, | order:zipf, | "
		  "cookies:client, | cookies:full,"},
	{"edns", "2* | edns:{size:'<512..4096>',do:<bool>}, | edns:{nsid:true,padding:'128'},"},
	{"expect", "3* | expect:{rcode:[NOERROR]}"},
	{"stream",
		"2* server:<server>,dns:{names:[<name>,<name>],transport:tcp,tcp:{<connections>}} "
		"| "
		"server:<server>,echo:{size:<20..9000>B,transport:tcp,tcp:{<connections>}} | "
		"server:<server>,echo:{test:stream,transport:tcp,tcp:{<connections>}}"},
	{"server", "198.18.0.2 | '2001:db8::2'"},
	{"connections", "connections:'<1..50>',<queries><idle><open><pipeline><closed><segments>"},
	{"queries", "2* | queries_per_connection:'<1..200>',"},
	{"idle", "3* | idle:<5..2000>ms,"},
	{"open", "3* | open:pool,"},
	{"slow open", ""},
	{"pipeline", "3* | pipeline:'<1..100>',"},
	{"closed", "closed:lost, | closed:again,"},
	{"segments",
		"4* | ack_delay:<1..200>ms | window:<2..64>KiB | nagle:true | timestamps:false"},

	{"clients4", "server:198.18.0.2,dhcp4:{<who4><exchange4><again><pace4>} | "
		     "2* server:198.18.0.2,dhcp4:{<who4>relay:{addresses:[198.18.0.64/27],"
		     "circuit_id:'p{client}',<override>},<exchange4><again><pace4>}"},
	{"who4", "mac:'02:04:0<n>:00:00:00',"},
	{"who6", "mac:'02:06:0<n>:00:00:00',"},
	{"override", "2* | server_id_override:relay"},
	{"exchange4", "2* | exchange:discover, | exchange:rapid, | 2* mix:{dora:50%,renew:30%,"
		      "release:20%}, | mix:{dora:60%,rebind:10%,reboot:20%,inform:10%}, | "
		      "mix:{dora:70%,decline:5%,discover:25%},"},
	{"again", "3* clients:'<50..5000>',again:true, | 2* clients:'<500..8000>', | "},
	{"pace4", "2* | retransmit:{initial:<initial>,factor:'<1..3>',jitter:<0..9>ms,tries:"
		  "'<1..5>'}"},
	{"initial", "<5..40>ms | <40..2000>ms"},
	{"clients6", "2* dhcp6:{<who6><to_all6><leases6><again><pace6>} | "
		     "2* server:'2001:db8::2',dhcp6:{<who6><exchange6><leases6><again><pace6>} | "
		     "3* server:'2001:db8::2',dhcp6:{<who6>relay:{addresses:["
		     "'2001:db8::100-2001:db8::11f'],levels:'<1..4>',interface_id:'p{client}'},"
		     "<exchange6><leases6><again><pace6>} | "
		     "server:'2001:db8::2',dhcp6:{<who6>lease:prefix,<prefixes6><again><pace6>}"},
	{"exchange6", "<to_all6> | <prefixes6>"},
	{"to_all6", "2* | exchange:solicit, | exchange:rapid, | exchange:information, | "
		    "mix:{sarr:60%,rebind:10%,confirm:20%,information:10%}, | "
		    "mix:{sarr:70%,decline:5%,solicit:25%},"},
	{"prefixes6", "2* | exchange:rapid, | 3* mix:{sarr:50%,renew:30%,release:20%}, | "
		      "mix:{sarr:70%,rebind:30%},"},
	{"leases6", "3* | lease:both, | advertise:best, | addresses:'<2..4>',"},
	{"pace6", "2* | retransmit:{rand:<0..20>%,solicit:{irt:<initial>,mrc:'<1..5>'},"
		  "request:{irt:<initial>,mrc:'<1..5>'},renew:{irt:<initial>,mrc:'<1..5>'}}"},

	{"serve_dns",
		"4* {} | {rcode:<rcode>} | {text:'<1..9999999>'} | {extended_error:['<1..30>']}"},
	{"rcode", "NXDOMAIN | SERVFAIL | REFUSED"},
	{"serve_ntp", "4* {} | {stratum:'<1..15>'}"},
	{"serve_echo", "{}"},
	{"serve_dhcp4", "{pool:[10.0.0.0/17],lease_time:<lease>,rapid:<bool>,<greedy>}"},
	{"lease", "4* 1h | <5..300>s"},
	{"greedy", "3* | authoritative:true"},
	{"serve_dhcp6", "{clients:'40000',valid_lifetime:<lease>,rapid:<bool>,prefix_length:'56',"
			"<preference><greedy>}"},
	{"preference", "3* | preference:'<0..255>',"},

	{"often", "2* {share:<1..20>%} | {every:'<2..200>'}"},
	{"fault",
		"loss:<often> | loss:<often> | duplicate:<often> | reorder:<often> | "
		"corrupt:<often> | "
		"corrupt_checksum:<often> | truncate:<often> | wrong_port:<often> | "
		"wrong_address:<often> | 2* delay:<delay> | stall:{every:<1..9>s,for:<1..900>ms} | "
		"outage:{off_at:<1..5>s,on_at:<6..9>s} | "
		"capacity:{rate:'<50..2000>',queue:'<0..100>',drop_cost:<0..50>%}"},
	{"delay", "{constant:<1..90>ms} | {uniform:{min:1ms,max:<2..90>ms}} | "
		  "{exponential:<1..50>ms} | "
		  "{two_point:{first:1ms,second:<2..900>ms,share_of_second:<1..30>%}}"},
	{"fault_dns", "wrong_id:<often> | wrong_question:<often> | rcode:<often> | tc:<often> | "
		      "empty:<often> | unsolicited:<often>"},
	{"fault_ntp", "kiss:<often> | unsynchronised:<often> | wrong_origin:<often>"},
	{"fault_echo", "wrong_fill:<often> | header_only:<often> | wrong_echo:<often>"},
	{"fault_dhcp4",
		"nak:<often> | no_offer:<often> | wrong_xid:<often> | wrong_chaddr:<often> | "
		"other_address:<often> | no_server_id:<often> | no_lease_time:<often>"},
	{"fault_dhcp6", "no_advertise:<often> | no_addrs_avail:<often> | no_binding:<often> | "
			"unspec_fail:<often> | missing_ia:<often> | wrong_lifetimes:<often> | "
			"wrong_times:<often> | wrong_duid:<often> | no_client_id:<often>"},

	// Three of ten links and servers are perfect: then nothing may be lost.
	{"world", "2* seed:'<1..1000>',<latency>,<spread_rx> | "
		  "seed:'<1..1000>',<latency>,<spread_rx>,cost:<50..2000>us | "
		  "2* seed:'<1..1000>',<latency>,<spread_rx>,<trouble> | "
		  "2* seed:'<1..1000>',<latency>,<spread_rx>,<trouble>,<trouble>"},
	{"latency", "delay:<1..900>us | delay:<1..50>ms | delay:<1..20>ms,jitter:<1..5000>us"},
	{"spread_rx", "2* | spread:'1' | stamps:'1' | spread:'1',stamps:'1'"},
	{"trouble", "3* loss:'0.0<1..999>' | loss:'0.<1..3>' | duplicate:'0.0<1..99>' | "
		    "reorder:'0.0<1..99>' | corrupt:'0.0<1..99>' | rate:'<100000..10000000>' | "
		    "queue:'<4..200>' | cost:<2..200>us | down_from:<1..3>s,down_to:<4..6>s | "
		    "2* away:'0:<1..3000>ms-<3001..5000>ms' | away:'1:<1..3000>ms-<3001..3500>ms'"},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define TEXT 16384 // of a case
#define SLOW 6     // one case of so many

struct draw {
	struct rand rand;
	bool slow; // hours at a few transactions a second
	unsigned item;
	char *kept[ROWS]; // <=name>
	char text[TEXT];
	size_t len;
};

static uint64_t draw_below(struct draw *d, uint64_t n)
{
	return rand_scale(rand_next(&d->rand), n);
}

static void add(struct draw *d, const char *text, size_t len)
{
	if (d->len + len >= TEXT)
		abort();
	memcpy(d->text + d->len, text, len);
	d->len += len;
	d->text[d->len] = '\0';
}

static size_t row_of(const char *name, size_t len)
{
	for (size_t r = 0; r < ROWS; r++)
		if (strlen(rows[r][0]) == len && memcmp(rows[r][0], name, len) == 0)
			return r;
	fprintf(stderr, "grammar: no row %.*s\n", (int)len, name);
	abort();
}

// Of a slow case its own one, where there is one.
static size_t row_for(const struct draw *d, const char *name, size_t len)
{
	static const char prefix[] = "slow ";
	const size_t more = sizeof(prefix) - 1;

	for (size_t r = 0; d->slow && r < ROWS; r++)
		if (strlen(rows[r][0]) == more + len && memcmp(rows[r][0], prefix, more) == 0 &&
			memcmp(rows[r][0] + more, name, len) == 0)
			return r;
	return row_of(name, len);
}

static void expand(struct draw *d, size_t row);

static void expand_mark(struct draw *d, const char *mark, size_t len)
{
	unsigned long long from, to;
	size_t row, at = d->len;
	char text[24];

	if (sscanf(mark, "%llu..%llu", &from, &to) == 2) {
		double unit = (double)draw_below(d, 1u << 30) / (1u << 30);
		double value =
			(double)(from + 1) * pow((double)(to + 1) / (double)(from + 1), unit);

		add(d, text, (size_t)snprintf(text, sizeof(text), "%.0f", floor(value + 0.5) - 1));
	} else if (len == 1 && *mark == 'n') {
		add(d, text, (size_t)snprintf(text, sizeof(text), "%u", d->item));
	} else if (*mark == '=') {
		row = row_for(d, mark + 1, len - 1);
		if (d->kept[row]) {
			add(d, d->kept[row], strlen(d->kept[row]));
			return;
		}
		expand(d, row);
		d->kept[row] = strdup(d->text + at);
	} else {
		expand(d, row_for(d, mark, len));
	}
}

// The alternative that begins at *at; *at: behind it.
static unsigned long alternative(const char **at, const char **text, size_t *len)
{
	const char *end = strstr(*at, " | ");
	char *behind;
	unsigned long weight = strtoul(*at, &behind, 10);

	*text = behind > *at && *behind == '*' ? behind + 1 : *at;
	if (*text == *at)
		weight = 1;
	while (**text == ' ' && *text != end)
		++*text;
	*len = end ? (size_t)(end - *text) : strlen(*text);
	*at = end ? end + 3 : *text + *len;
	return weight;
}

static void expand(struct draw *d, size_t row)
{
	const char *at = rows[row][1], *text, *mark, *end;
	uint64_t sum = 0, drawn;
	size_t len;

	while (*at)
		sum += alternative(&at, &text, &len);
	drawn = draw_below(d, sum);
	at = rows[row][1];
	while (drawn >= (sum = alternative(&at, &text, &len)))
		drawn -= sum;
	end = text + len;
	while ((mark = memchr(text, '<', (size_t)(end - text)))) {
		len = strncmp(mark, "<= ", 3) == 0 ? 2 : 0; // a condition
		add(d, text, (size_t)(mark - text) + len);
		if (len == 0)
			expand_mark(d, mark + 1, strcspn(mark + 1, ">"));
		text = len ? mark + len : strchr(mark, '>') + 1;
	}
	add(d, text, (size_t)(end - text));
}

static json_t *parse(const char **at);

static char *parse_word(const char **at, char *word)
{
	char end = **at == '\'' ? '\'' : '\0';
	size_t len = end ? strcspn(++*at, "'") : strcspn(*at, ",:[]{}'");

	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len + (end ? 1 : 0);
	return word;
}

static json_t *parse(const char **at)
{
	char word[256], closing = **at == '{' ? '}' : ']';
	json_t *all;

	if (**at != '{' && **at != '[')
		return json_string(parse_word(at, word));
	all = closing == '}' ? json_object() : json_array();
	for (++*at; **at != closing;) {
		if (**at == ',') {
			++*at;
			continue;
		}
		if (closing == ']') {
			json_array_append_new(all, parse(at));
			continue;
		}
		parse_word(at, word);
		if (*(*at)++ != ':')
			abort();
		json_object_set_new(all, word, parse(at));
	}
	++*at;
	return all;
}

static json_t *draw_row(struct draw *d, const char *name, const char *suffix, bool members)
{
	char row[64];
	const char *at = d->text;

	snprintf(row, sizeof(row), "%s%s", name, suffix);
	d->len = 0;
	add(d, "{", members);
	expand(d, row_for(d, row, strlen(row)));
	add(d, "}", members);
	return parse(&at);
}

static const char *protocol_of(const json_t *item)
{
	static const char *const names[] = {"dns", "ntp", "echo", "dhcp4", "dhcp6"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_object_get(item, names[i]))
			return names[i];
	abort();
}

// The responder answers what the items ask, and sometimes wrongly.
static void add_responder(struct draw *d, json_t *config)
{
	json_t *server = json_object_get(config, "responder"), *faults = json_object();
	json_t *items = json_object_get(config, "traffic"), *item;
	uint64_t wrong = draw_below(d, 10) < 5 ? 0 : draw_below(d, 3);
	size_t i;

	json_array_foreach(items, i, item)
	{
		const char *protocol = protocol_of(item);

		if (!json_object_get(server, protocol))
			json_object_set_new(
				server, protocol, draw_row(d, "serve_", protocol, false));
		if (wrong && draw_below(d, 2))
			json_object_update_new(faults, draw_row(d, "fault_", protocol, true));
	}
	while (wrong-- > 0)
		json_object_update_new(faults, draw_row(d, "fault", "", true));
	if (json_object_size(faults))
		json_object_set(server, "faults", faults);
	json_decref(faults);
}

// Another rate, and another share of a fault: of those that the case has.
static void add_events(struct draw *d, json_t *config)
{
	json_t *events = json_array(), *item, *fault;
	json_t *faults = json_object_get(json_object_get(config, "responder"), "faults");
	unsigned ms = 0;
	const char *name;
	size_t i;

	json_array_foreach(json_object_get(config, "traffic"), i, item)
	{
		json_t *load = json_object_get(item, "load");

		if (d->slow || !json_object_get(load, "rate") || json_object_get(load, "total") ||
			json_object_get(load, "stop_at") || draw_below(d, 4))
			continue;
		ms += 50 + (unsigned)draw_below(d, 150);
		json_array_append_new(
			events, json_pack("{s:o,s:o}", "at", json_sprintf("%ums", ms), "set",
					json_sprintf("traffic.i%zu.load.rate=%u", i + 1,
						1 + (unsigned)draw_below(d, 500))));
	}
	json_object_foreach(faults, name, fault)
	{
		if (!json_object_get(fault, "share") || draw_below(d, 2))
			continue;
		ms += 50 + (unsigned)draw_below(d, 150);
		json_array_append_new(
			events, json_pack("{s:o,s:o}", "at", json_sprintf("%ums", ms), "set",
					json_sprintf("responder.faults.%s.share=%u%%", name,
						(unsigned)draw_below(d, 40))));
	}
	if (json_array_size(events))
		json_object_set(config, "events", events);
	json_decref(events);
}

// Each worker of the responder has one of the tester's as its partner.
static void fit_workers(json_t *config)
{
	json_t *ports = json_object_get(config, "ports");
	json_t *ours = json_object_get(json_array_get(ports, 0), "cpus");
	json_t *theirs = json_object_get(json_array_get(ports, 1), "cpus");

	while (json_array_size(theirs) > json_array_size(ours))
		json_array_remove(theirs, json_array_size(theirs) - 1);
}

json_t *grammar_case(uint64_t seed)
{
	struct draw *d = calloc(1, sizeof(*d));
	json_t *config, *items = json_array(), *world;
	unsigned count;

	d->rand.state = rand_hash(seed);
	d->slow = draw_below(d, SLOW) == 0;
	config = draw_row(d, "config", "", false);
	count = 1 + (unsigned)(draw_below(d, 4) * draw_below(d, 2));
	for (d->item = 1; d->item <= count; d->item++)
		json_array_append_new(items, draw_row(d, "item", "", false));
	json_object_set_new(config, "traffic", items);
	add_responder(d, config);
	add_events(d, config);
	fit_workers(config);
	world = draw_row(d, "world", "", true);
	for (size_t i = 0; i < ROWS; i++)
		free(d->kept[i]);
	free(d);
	return json_pack("{s:o,s:o}", "world", world, "config", config);
}
