// SPDX-License-Identifier: BSD-3-Clause
// Settings of a command line: the file that they become, and errors about it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/config/config_load.h"
#include "line/front.h"

struct fixture {
	struct arena *a;
	struct front f;
};

static void set_up(struct fixture *x)
{
	x->a = arena_new();
	front_init(&x->f, "dns", x->a);
}

static void tear_down(struct fixture *x)
{
	front_free(&x->f);
	arena_free(x->a);
}

static void settings_become_a_file(void **state)
{
	struct fixture x;

	set_up(&x);
	front_set(&x.f, NULL, "run.duration", "10s");
	front_set(&x.f, NULL, "ports.lan.driver", "null");
	front_set(&x.f, "-r 5", "traffic.queries.load.rate", "5");
	front_set(&x.f, NULL, "traffic.more.server", "2001:db8::1");
	front_add(&x.f, NULL, "traffic.queries.dns.names", "a A");
	front_add(&x.f, NULL, "traffic.queries.dns.names", "b \"\\ A");
	front_set_yaml(&x.f, NULL, "traffic.more.load", "{rate: 3}");
	front_set(&x.f, NULL, "run.duration", "20s");
	front_set(&x.f, NULL, "run.note", "no");
	front_set(&x.f, NULL, "run.id", "x");
	front_unset(&x.f, "run.id");
	front_unset(&x.f, "host.idle");
	assert_string_equal(front_yaml(&x.f), "run:\n"
					      "  duration: 20s\n"
					      "  note: \"no\"\n"
					      "ports:\n"
					      "  - name: lan\n"
					      "    driver: \"null\"\n"
					      "traffic:\n"
					      "  - name: queries\n"
					      "    load:\n"
					      "      rate: 5\n"
					      "    dns:\n"
					      "      names:\n"
					      "        - \"a A\"\n"
					      "        - \"b \\\"\\\\ A\"\n"
					      "  - name: more\n"
					      "    server: \"2001:db8::1\"\n"
					      "    load: {rate: 3}\n");
	assert_string_equal(front_get(&x.f, "traffic.queries.load.rate"), "5");
	assert_null(front_get(&x.f, "traffic.none.load.rate"));
	tear_down(&x);
}

// Whatever a user types is a text, and no other setting.
static void no_text_becomes_a_setting(void **state)
{
	static const char *const texts[] = {"a\nb: 1", "*x", "&x", "!t", "[a", "{a: 1}", "# c", "",
		" a ", "- a", "null", "~", "'", "\"", "\t", "a: b", "a #b", "%", "\x7f", "ü"};
	struct fixture x;
	const struct config *c;
	struct diag *d;
	const char *text;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		set_up(&x);
		d = diag_new();
		front_set(&x.f, NULL, "run.note", texts[i]);
		front_set(&x.f, NULL, "ports.lan.driver", "pcap");
		front_set(&x.f, NULL, "ports.lan.device", "lo");
		front_add(&x.f, NULL, "ports.lan.addresses", "198.18.0.1/24");
		front_set(&x.f, NULL, "traffic.queries.server", "198.18.0.2");
		front_set(&x.f, NULL, "traffic.queries.load.rate", "5");
		front_add(&x.f, NULL, "traffic.queries.dns.names", "a A");
		text = front_yaml(&x.f);
		c = config_load_text("dns", text, strlen(text), x.a, d);
		diag_print(d, stderr);
		assert_non_null(c);
		assert_string_equal(c->run.note, texts[i]);
		diag_free(d);
		tear_down(&x);
	}
}

static void errors_name_the_option(void **state)
{
	struct diag *d = diag_new();
	struct fixture x;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	const char *yaml;

	set_up(&x);
	front_own_errors(&x.f, d);
	front_set(&x.f, NULL, "ports.lan.driver", "fast");
	front_set(&x.f, "-r 5x", "traffic.queries.load.rate", "5x");
	yaml = front_yaml(&x.f);
	assert_null(config_load_text("dns", yaml, strlen(yaml), x.a, d));
	diag_print(d, out);
	fclose(out);
	assert_non_null(strstr(text, "ddiperf: dns: ports.lan.driver: \"fast\" is not one of"));
	assert_non_null(strstr(text, "\nddiperf: dns: -r 5x: \"5x\" is not a rate"));
	free(text);
	diag_free(d);
	tear_down(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_become_a_file),
		cmocka_unit_test(no_text_becomes_a_setting),
		cmocka_unit_test(errors_name_the_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
