// SPDX-License-Identifier: BSD-3-Clause
// The effective file: readable, complete, and read back to the same structs.
#include "fixture.h"

static const char full[] =
	"run: {seed: 7, warmup: 250us, drain: 2s, memory: auto}\n"
	"own: 198.18.0.1/24\n"
	"pool: 2001:db8::/64\n"
	"cpu: 4-7\n"
	"traffic:\n"
	"  - name: queries\n"
	"    server: 198.18.0.2\n"
	"    ports: [53, 1024-65535]\n"
	"    sources: [198.18.0.16-198.18.0.30, \"2001:db8::/120\"]\n"
	"    timeout: 20ms\n"
	"    loss: 5%\n"
	"    load: {rate: max, total: 100k}\n"
	"    dns: {queries: queries.txt, mode: null, recursion: false, option: 00ff12}\n"
	"  - server: 2001:db8::2\n"
	"    ports: []\n"
	"    load: {outstanding: 5}\n"
	"    dhcp4: {clients: 1M, relay: {addresses: 198.18.0.64/26}}\n"
	"    dns: {lines: [\"\", \"~\", null, \"true\", \"a: b\", \"# no\", \"- x\", "
	"\"\\\"q\\\\\", "
	"\"tab\\t nl\\n cr\\r\", \"\\e\\x7f\\x85\\u2028\\ufeff\\U0001F600\\ud7ff\\ue000\", "
	"\"gr\xc3\xbc\xc3\x9f\", \" lead\", \"trail \", \"%x\", \"@x\", \"5\", \"1:2\", \"{\", "
	"\"]\", \"a,b\", \"'\", \"\\xa0\\x80\"]}\n"
	"criteria: [\"loss <= 0.1%\"]\n";

static char *dump_of(const struct sample *s)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	conf_dump(&sample_section, s, out);
	fclose(out);
	return text;
}

static void a_dump_is_a_readable_file(void **state)
{
	struct fixture f;
	char *text;

	fixture_load(&f,
		"own: 198.18.0.1/24\n"
		"traffic:\n"
		"  - {name: queries, server: \"2001:db8::1\", load: {rate: max}, dns: {}}\n"
		"  - {server: 1.2.3.4, dhcp4: {clients: 100k, relay: {addresses: 1.2.3.0/30}}}\n"
		"criteria: [loss <= 0.1%, p99 <= 2ms]\n");
	assert_errors(&f, "");
	text = dump_of(&f.s);
	assert_string_equal(text, "run:\n"
				  "  seed: 1\n"
				  "  warmup: 0s\n"
				  "  drain: auto\n"
				  "  memory: 64MiB\n"
				  "own: 198.18.0.1/24\n"
				  "cpu: 0\n"
				  "traffic:\n"
				  "  - name: queries\n"
				  "    server: \"2001:db8::1\"\n"
				  "    ports: [1024-2047, 4096]\n"
				  "    sources: []\n"
				  "    timeout: 1s\n"
				  "    loss: 0.1%\n"
				  "    load:\n"
				  "      rate: max\n"
				  "      total: none\n"
				  "    dns:\n"
				  "      lines: []\n"
				  "      mode: slow\n"
				  "      recursion: true\n"
				  "  - server: 1.2.3.4\n"
				  "    ports: [1024-2047, 4096]\n"
				  "    sources: []\n"
				  "    timeout: 1s\n"
				  "    loss: 0.1%\n"
				  "    load:\n"
				  "      rate: 20k\n"
				  "      total: none\n"
				  "    dhcp4:\n"
				  "      mac: \"02:00:00:00:00:00\"\n"
				  "      clients: 100k\n"
				  "      relay:\n"
				  "        addresses: [1.2.3.0/30]\n"
				  "        levels: 1\n"
				  "criteria: [\"loss <= 0.1%\", \"p99 <= 2ms\"]\n");
	free(text);
	fixture_end(&f);
}

static void assert_same_list(const struct field_list *l, const struct field_list *r, size_t size)
{
	assert_int_equal(l->count, r->count);
	assert_memory_equal(l->items, r->items, l->count * size);
}

static void assert_same_texts(const struct field_list *l, const struct field_list *r)
{
	assert_int_equal(l->count, r->count);
	for (uint32_t i = 0; i < l->count; i++)
		assert_string_equal(((char **)l->items)[i], ((char **)r->items)[i]);
}

static void assert_same_text(const char *l, const char *r)
{
	assert_int_equal(!l, !r);
	if (l)
		assert_string_equal(l, r);
}

static void assert_same_dns(const struct sample_dns *l, const struct sample_dns *r)
{
	assert_int_equal(!l, !r);
	if (!l)
		return;
	assert_same_text(l->queries, r->queries);
	assert_same_texts(&l->lines, &r->lines);
	assert_int_equal(l->mode, r->mode);
	assert_int_equal(l->recursion, r->recursion);
	assert_int_equal(l->option.len, r->option.len);
	if (l->option.len)
		assert_memory_equal(l->option.data, r->option.data, l->option.len);
}

static void assert_same_dhcp(const struct sample_dhcp *l, const struct sample_dhcp *r)
{
	assert_int_equal(!l, !r);
	if (!l)
		return;
	assert_memory_equal(l->mac, r->mac, 6);
	assert_int_equal(l->clients, r->clients);
	assert_int_equal(!l->relay, !r->relay);
	if (!l->relay)
		return;
	assert_int_equal(l->relay->levels, r->relay->levels);
	assert_same_list(&l->relay->addresses, &r->relay->addresses, sizeof(struct addr_range));
}

static void assert_same_item(const struct sample_item *l, const struct sample_item *r)
{
	assert_same_text(l->name, r->name);
	assert_memory_equal(&l->server, &r->server, sizeof(l->server));
	assert_same_list(&l->ports, &r->ports, sizeof(struct field_range));
	assert_same_list(&l->sources, &r->sources, sizeof(struct addr_range));
	assert_int_equal(l->timeout_ns, r->timeout_ns);
	assert_true(l->loss == r->loss);
	assert_memory_equal(&l->load, &r->load, sizeof(l->load));
	assert_same_dns(l->protocols[0], r->protocols[0]);
	assert_same_dhcp(l->protocols[2], r->protocols[2]);
}

static void assert_round_trip(const struct sample *s)
{
	char *text = dump_of(s), *again;
	struct fixture f;

	fixture_load(&f, text);
	assert_errors(&f, "");
	assert_memory_equal(&s->run, &f.s.run, sizeof(s->run));
	assert_memory_equal(&s->own, &f.s.own, sizeof(s->own));
	assert_memory_equal(&s->pool, &f.s.pool, sizeof(s->pool));
	assert_memory_equal(&s->cpu, &f.s.cpu, sizeof(s->cpu));
	assert_same_texts(&s->criteria, &f.s.criteria);
	assert_int_equal(s->traffic.count, f.s.traffic.count);
	for (uint32_t i = 0; i < s->traffic.count; i++)
		assert_same_item((struct sample_item *)s->traffic.items + i, item_of(&f, i));
	again = dump_of(&f.s);
	assert_string_equal(again, text);
	free(again);
	free(text);
	fixture_end(&f);
}

static void a_dump_reads_back_to_the_same_structs(void **state)
{
	struct fixture f;

	fixture_parse(&f, full);
	assert_non_null(f.tree);
	assert_int_equal(conf_set(f.tree, "traffic[1].load.rate=12345.678", f.a, f.d), 0);
	fixture_apply(&f);
	assert_errors(&f, "");
	assert_int_equal(((struct sample_dns *)item_of(&f, 1)->protocols[0])->lines.count, 22);
	assert_round_trip(&f.s);
	fixture_end(&f);
}

static void an_empty_file_reads_back_too(void **state)
{
	struct fixture f;

	fixture_load(&f, "{}\n");
	assert_errors(&f, "");
	assert_round_trip(&f.s);
	fixture_end(&f);
}

static void text_that_others_take_for_something_else_is_quoted(void **state)
{
	struct fixture f;
	char *text;

	fixture_load(&f,
		"criteria: [\"null\", \"Yes\", \"true\", \"~\", \"\", a, \"-a\", a-b, \"a b\"]\n");
	assert_errors(&f, "");
	text = dump_of(&f.s);
	assert_non_null(strstr(text, "\ncriteria: [\"null\", \"Yes\", \"true\", \"~\", \"\", a, "
				     "\"-a\", a-b, \"a b\"]\n"));
	free(text);
	fixture_end(&f);
}

static void empty_sections_are_braces(void **state)
{
	static const struct field_section none = {.name = "none", .size = 8};
	static const struct field rows[] = {
		{"one", "", FIELD_SECTION, .section = &none},
		{"two", "", FIELD_SECTION, .list = true, .offset = 8, .section = &none},
	};
	static const struct field_section outer = {.name = "outer", FIELD_ROWS(rows), .size = 32};
	uint64_t items[2] = {0};
	struct {
		uint64_t one;
		struct field_list two;
	} s = {0, {items, 2}};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	conf_dump(&outer, &s, out);
	conf_dump(&none, &s, out);
	fclose(out);
	assert_string_equal(text, "one: {}\ntwo:\n  - {}\n  - {}\n{}\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dump_is_a_readable_file),
		cmocka_unit_test(a_dump_reads_back_to_the_same_structs),
		cmocka_unit_test(an_empty_file_reads_back_too),
		cmocka_unit_test(text_that_others_take_for_something_else_is_quoted),
		cmocka_unit_test(empty_sections_are_braces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
