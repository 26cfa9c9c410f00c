// SPDX-License-Identifier: BSD-3-Clause
// Names of servers: the address that an item uses, its link and its port. The test plays the
// resolver.
// Path: cold. Test.
#include "loaded.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>

#define PORTS(lan)                                                                                 \
	"ports:\n"                                                                                 \
	"  - {name: lan, driver: ring, device: dut, " lan "}\n"                                    \
	"  - {name: dut, driver: ring, device: lan, addresses: [198.18.0.2/24, 2001:db8::2/64]}\n" \
	"responder: {port: dut, dns: {}}\n"
#define FOUR              "addresses: [198.18.0.1/24]"
#define BOTH              "addresses: [198.18.0.1/24, 2001:db8::1/64]"
#define REST              ", load: {rate: 1k}, dns: {names: [\"a.example.com A\"]}}\n"
#define ITEM(settings)    "traffic:\n  - {name: q, " settings REST
#define ANOTHER(settings) "  - {name: r, " settings REST

// An entry of the resolver: a name, and its addresses or an error.
static const struct known {
	const char *name, *addrs[3];
	int error;
} known[] = {
	{"four", {"198.18.0.2"}},
	{"both", {"2001:db8::2", "198.18.0.2"}},
	{"twice", {"198.18.0.3", "198.18.0.4"}},
	{"far", {"203.0.113.9"}},
	{"foreign", {""}}, // of another family
	{"nobody", .error = EAI_NONAME},
	{"broken", .error = EAI_SYSTEM},
};
static unsigned asked;

int __wrap_getaddrinfo(
	const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **all);
void __wrap_freeaddrinfo(struct addrinfo *all);

int __wrap_getaddrinfo(
	const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **all)
{
	const struct known *k = known;
	struct addrinfo **next = all;

	asked++;
	while (strcmp(k->name, name) != 0)
		k++;
	errno = EMFILE;
	for (unsigned n = 0; !k->error && k->addrs[n]; n++) {
		struct {
			struct addrinfo is;
			union {
				struct sockaddr any;
				struct sockaddr_in v4;
				struct sockaddr_in6 v6;
			} at;
		} *one = calloc(1, sizeof(*one));
		struct addr a = {0};
		const char *what;

		addr_parse(k->addrs[n], &a, &what);
		one->is.ai_family = a.len == 4 ? AF_INET : a.len == 16 ? AF_INET6 : AF_UNIX;
		one->is.ai_addr = &one->at.any;
		if (a.len == 4)
			memcpy(&one->at.v4.sin_addr, a.bytes, 4);
		else
			memcpy(&one->at.v6.sin6_addr, a.bytes, 16);
		*next = &one->is;
		next = &one->is.ai_next;
	}
	return k->error;
}

void __wrap_freeaddrinfo(struct addrinfo *all)
{
	while (all) {
		struct addrinfo *next = all->ai_next;

		free(all);
		all = next;
	}
}

// The configuration, or NULL and the errors in l->d.
static struct loaded load(const char *text)
{
	struct loaded l = {.a = arena_new(), .d = diag_new()};

	l.config = config_load_text_assigned("t.yaml", text, NULL, 0, l.a, l.d);
	return l;
}

static void expect_error(const char *text, const char *part)
{
	struct loaded l = load(text);
	char *errors = diag_text(l.d);

	if (l.config || !strstr(errors, part))
		fail_msg("expected \"%s\" in:\n%s", part, errors);
	free(errors);
	loaded_free(&l);
}

// The addresses of the first server and of the first further one ("": none), and their port.
static void expect_servers(const char *text, const char *first, const char *further, uint64_t port)
{
	struct loaded l = load(text);
	const struct item_settings *i;
	const struct field_host *more;
	char one[ADDR_TEXT_SIZE];

	if (!l.config)
		diag_print(l.d, stderr);
	assert_non_null(l.config);
	i = l.config->traffic.items;
	more = i->facts.further->items;
	assert_string_equal(addr_format(&i->host.addr, one, sizeof(one)), first);
	assert_int_equal(i->facts.further->count, further[0] != '\0');
	if (further[0])
		assert_string_equal(addr_format(&more[0].addr, one, sizeof(one)), further);
	assert_int_equal(i->host.port, port);
	assert_int_equal(i->server_port, port);
	loaded_free(&l);
}

static void a_name_is_the_first_address_that_the_port_reaches(void **state)
{
	expect_servers(PORTS(FOUR) ITEM("server: four"), "198.18.0.2", "", 0);
	expect_servers(PORTS(FOUR) ITEM("server: both"), "198.18.0.2", "", 0);
	expect_servers(PORTS(BOTH) ITEM("server: both"), "2001:db8::2", "", 0);
	expect_servers(PORTS(BOTH) ITEM("server: twice"), "198.18.0.3", "", 0);
	expect_servers(PORTS(BOTH) ITEM("server: both, source: {addresses: [198.18.0.9]}"),
		"198.18.0.2", "", 0);
	expect_servers(
		PORTS(FOUR ", gateway: 198.18.0.254") ITEM("server: far"), "203.0.113.9", "", 0);
	expect_error(PORTS(FOUR) ITEM("server: far"),
		"t.yaml:6:23: traffic.q.server: far is 203.0.113.9: port lan reaches none of them "
		"(it needs an address and a subnet or gateway of that family)");
	expect_error(PORTS("addresses: [2001:db8::1/64]") ITEM("server: twice"),
		"twice is 198.18.0.3, 198.18.0.4: port lan reaches none");
	expect_error(PORTS(BOTH) ITEM("server: four, source: {addresses: [2001:db8::9]}"),
		"four is 198.18.0.2: port lan reaches none");
}

static void further_servers_are_of_the_family_of_the_first(void **state)
{
	expect_servers(PORTS(BOTH) ITEM("server: 198.18.0.3, servers: [both]"), "198.18.0.3",
		"198.18.0.2", 0);
	expect_servers(PORTS(BOTH) ITEM("server: \"2001:db8::3\", servers: [both]"), "2001:db8::3",
		"2001:db8::2", 0);
	expect_error(PORTS(BOTH) ITEM("server: \"2001:db8::3\", servers: [four]"),
		"of that family, the family of the first server");
}

static void a_name_without_an_address_says_why(void **state)
{
	expect_error(PORTS(FOUR) ITEM("server: nobody"),
		"nobody: Name or service not known (give an address, or a name that `getent "
		"ahosts` finds)");
	expect_error(PORTS(FOUR) ITEM("server: broken"), "broken: Too many open files (give");
	expect_error(PORTS(FOUR) ITEM("server: foreign"), "foreign: has no address (give");
}

// A derived configuration uses the same server, even if the resolver now answers differently.
static void a_name_is_looked_up_once(void **state)
{
	struct loaded l;

	asked = 0;
	l = load(PORTS(FOUR) ITEM("server: four") ANOTHER("server: twice, servers: [four]"));
	assert_non_null(l.config);
	assert_int_equal(asked, 2);
	assert_int_equal(l.config->hosts.count, 2);
	assert_non_null(
		config_derive(l.config, (char *const[]){"traffic.q.load.rate=2k"}, 1, l.a, l.d));
	assert_int_equal(asked, 2);
	loaded_free(&l);
}

static void all_servers_of_an_item_have_one_port(void **state)
{
	expect_servers(PORTS(FOUR) ITEM("server: \"four:5300\""), "198.18.0.2", "", 5300);
	expect_servers(PORTS(FOUR) ITEM("server: four, server_port: 5300"), "198.18.0.2", "", 5300);
	expect_servers(PORTS(FOUR) ITEM("server: \"four:5300\", server_port: 5300"), "198.18.0.2",
		"", 5300);
	expect_servers(PORTS(FOUR) ITEM("server: \"four:5300\", servers: [\"twice:5300\"]"),
		"198.18.0.2", "198.18.0.3", 5300);
	expect_error(PORTS(FOUR) ITEM("server: \"four:5300\", server_port: 5301"),
		"port 5300, but server_port is 5301 (remove one)");
	expect_error(PORTS(FOUR) ITEM("server: four, servers: [\"twice:54\"]"),
		"port 54, but the servers of an item have one port, here 53 (server_port: 54, or");
}

static void a_link_is_the_device_of_the_port(void **state)
{
	struct loaded l =
		load("ports: [{name: lan, driver: socket}]\n" ITEM("server: \"fe80::1%lo\""));

	if (!l.config)
		diag_print(l.d, stderr);
	assert_non_null(l.config);
	assert_string_equal(((const struct port_settings *)l.config->ports.items)->device, "lo");
	loaded_free(&l);
	expect_error("ports: [{name: lan, driver: socket}]\n" ITEM("server: \"fe80::1\""),
		"a link-local address needs an interface");
	expect_error("ports: [{name: lan, driver: socket, device: eth9}]\n" ITEM(
			     "server: \"fe80::1%lo\""),
		"is on the link lo, but port lan has the device eth9 (remove one)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_the_first_address_that_the_port_reaches),
		cmocka_unit_test(further_servers_are_of_the_family_of_the_first),
		cmocka_unit_test(a_name_without_an_address_says_why),
		cmocka_unit_test(a_name_is_looked_up_once),
		cmocka_unit_test(all_servers_of_an_item_have_one_port),
		cmocka_unit_test(a_link_is_the_device_of_the_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
