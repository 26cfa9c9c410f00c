// SPDX-License-Identifier: BSD-3-Clause
// One clear message from the output of DPDK and its drivers when they fail, and the capture of that
// output.
#include "ports.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "io/driver/explain.h"

static struct io_error e;

static int explained(const char *driver, const char *device, int err, const char *text)
{
	struct port_settings p = port_of("lan", driver, device);
	char *said = strdup(text);
	int result = explain(&e, &p, err, said);

	free(said);
	return result;
}

static void an_attached_program_is_named_with_the_command(void **state)
{
	int err = explained("af_xdp", "veth0", -22,
		"libbpf: Kernel error message: XDP program already attached\n"
		"libxdp: Error attaching XDP program to ifindex 5: Device or resource busy\n");

	assert_int_equal(err, -EBUSY);
	assert_string_equal(e.text, "port lan (af_xdp, veth0): an XDP program is already attached: "
				    "`ip link set dev veth0 xdp off`, or force: true");
}

static void a_missing_driver_is_named_with_its_package(void **state)
{
	int err = explained("vdev", "net_foo0", -14,
		"EAL: failed to parse device \"vdev:net_foo0\"\n"
		"EAL: Failed to attach device on primary process\n");

	assert_int_equal(err, -ENOENT);
	assert_non_null(strstr(e.text, "`apt-get install librte-meta-net`"));
}

static void missing_rights_are_told_from_a_plain_minus_one(void **state)
{
	assert_int_equal(
		explained("pcap", "veth0", -1,
			"open_iface_live(): Couldn't open veth0: Operation not permitted\n"),
		-EPERM);
	assert_int_equal(explained("pcap", "veth0", -1, "something: odd failed\n"), -EIO);
}

static void an_unknown_complaint_gives_its_first_telling_line(void **state)
{
	explained("memif", "/x/s", -22,
		"rte_pmd_memif_probe(): Failed to register mp action callback: Operation not "
		"supported\n"
		"EAL: hello\n"
		"memif_check_socket_filename(): Invalid socket directory.\n"
		"memif_probe(): memif_init failed\n"
		"EAL: Driver cannot attach the device (net_memif0)\n"
		"EAL: Failed to attach device on primary process\n");
	assert_string_equal(e.text, "port lan (memif, /x/s): Invalid socket directory.");
}

static void the_kernels_own_words_come_first(void **state)
{
	explained("af_xdp", "eth1", -22,
		"libbpf: prog 'xdp_pass': failed to load: -1\n"
		"xsk_configure(): Failed to create xsk socket.\n"
		"libbpf: Kernel error message: native and generic cannot be mixed\n");
	assert_string_equal(e.text, "port lan (af_xdp, eth1): native and generic cannot be mixed");
}

static void silence_gives_the_error_number(void **state)
{
	assert_int_equal(explained("tap", NULL, -ENOSPC, "\n  \n"), -ENOSPC);
	assert_string_equal(e.text, "port lan (tap): No space left on device");
}

static void what_no_port_caused_names_none(void **state)
{
	char said[] = "EAL: Cannot get hugepage information.\n";

	assert_int_equal(explain(&e, NULL, -13, said), -ENOMEM);
	assert_memory_equal(e.text, "no hugepages: `echo ", 20);
}

static void the_words_that_help_are_found(void **state)
{
	static const struct {
		const char *said, *text;
	} cases[] = {
		{"EAL: first\nEAL: last\n", "last"},
		{"it failed\r\nlater: it failed too\n", "it failed"},
		{"hello\n \t\n", "hello"},
		{"one: two: three: four: failed\n", "four: failed"},
		{"a: failed\n", "failed"},
		{": failed\n", ": failed"}, // a speaker has a name
		{"no speaker: failed\n", "no speaker: failed"},
		{"speaker:failed\n", "speaker:failed"},
		{"failed:\n", "failed:"},
		{"xdp_pass: cannot load\nit cannot start\n", "it cannot start"},
		{"Kernel error message: first\nKernel error message: second\n", "first"},
		{"cannot\nx: Kernel error message: of the kernel\n", "of the kernel"},
		{"EAL: cannot attach device on primary process\n",
			"the DPDK driver does not take these arguments"},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(explained("null", NULL, -EIO, cases[i].said), -EIO);
		assert_memory_equal(e.text, "port lan (null): ", 17);
		assert_string_equal(e.text + 17, cases[i].text);
	}
}

static void a_port_without_a_name_is_told(void **state)
{
	struct port_settings p = port_of(NULL, "vdev", NULL);
	char said[] = "EAL: failed to parse device\n", listens[] = "Connection refused\n";

	explain(&e, &p, -5, said);
	assert_memory_equal(e.text, "port ? (vdev): DPDK has no such driver", 38);
	assert_int_equal(explain(&e, &p, -5, listens), -ECONNREFUSED);
	assert_non_null(strstr(e.text, "no process listens on the device"));
	strcpy(listens, "Connection refused");
	explain(&e, NULL, -5, listens);
	assert_string_equal(e.text, "no process listens on the device");
	assert_int_equal(explained("af_xdp", "e", -5, "failed to parse device"), -ENOENT);
	assert_non_null(strstr(e.text, "`apt-get install librte-net-af-xdp"));
}

static void long_complaints_are_cut(void **state)
{
	char device[300], *said = malloc(100000);

	memset(device, 'd', sizeof(device) - 1);
	device[sizeof(device) - 1] = '\0';
	memset(said, 'x', 99999);
	memcpy(said, "failed ", 7);
	said[99999] = '\0';
	assert_int_equal(explained("pcap", device, -5, said), -5);
	assert_in_range(strlen(e.text), 1000, sizeof(e.text) - 1);
	free(said);
}

static void a_capture_takes_both_streams_and_gives_them_back(void **state)
{
	int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), ends[2];
	struct capture c;
	char buf[16];
	char *said;

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	dup2(ends[1], STDOUT_FILENO);
	dup2(ends[1], STDERR_FILENO);
	capture_begin(&c);
	dprintf(STDOUT_FILENO, "one\n");
	fprintf(stderr, "two\n");
	printf("three\n");
	said = capture_end(&c);
	dprintf(STDERR_FILENO, "after");
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	assert_int_equal(read(ends[0], buf, sizeof(buf)), 5);
	assert_memory_equal(buf, "after", 5);
	assert_string_equal(said, "one\ntwo\nthree\n");
	free(said);
	close(ends[0]);
	close(ends[1]);
	close(out);
	close(err);
}

static void a_capture_survives_a_flood(void **state)
{
	struct capture c;
	char *said;

	capture_begin(&c);
	for (unsigned i = 0; i < 40000; i++)
		dprintf(STDERR_FILENO, "line %u of the flood\n", i);
	said = capture_end(&c);
	assert_non_null(strstr(said, "line 39999 of the flood\n"));
	assert_int_equal(strlen(said), 256 * 1024);
	free(said);
}

static void a_zero_byte_does_not_end_a_capture(void **state)
{
	struct capture c;
	char *said;

	capture_begin(&c);
	assert_int_equal(write(STDOUT_FILENO, "\0a\0b\0", 5), 5);
	said = capture_end(&c);
	assert_string_equal(said, " a b ");
	free(said);
	capture_begin(&c);
	said = capture_end(&c);
	assert_string_equal(said, "");
	free(said);
}

static void a_closed_stream_is_closed_again(void **state)
{
	int err = dup(STDERR_FILENO);
	struct capture c;
	bool closed;

	close(STDERR_FILENO);
	capture_begin(&c);
	free(capture_end(&c));
	closed = fcntl(STDERR_FILENO, F_GETFD) < 0;
	dup2(err, STDERR_FILENO);
	close(err);
	assert_true(closed);
}

static void what_was_captured_is_shown_on_demand(void **state)
{
	int err = dup(STDERR_FILENO), out = memfd_create("stderr", 0);
	static char shown[256];
	struct capture c;

	log_set_level(LOG_VERBOSE);
	dup2(out, STDERR_FILENO);
	capture_begin(&c);
	dprintf(STDERR_FILENO, "one\n\ntwo");
	free(capture_end(&c));
	log_set_level(LOG_NORMAL);
	dup2(err, STDERR_FILENO);
	close(err);
	assert_in_range(pread(out, shown, sizeof(shown) - 1, 0), 1, sizeof(shown));
	close(out);
	assert_string_equal(shown, "ddiperf: | one\nddiperf: | two\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_attached_program_is_named_with_the_command),
		cmocka_unit_test(a_missing_driver_is_named_with_its_package),
		cmocka_unit_test(missing_rights_are_told_from_a_plain_minus_one),
		cmocka_unit_test(an_unknown_complaint_gives_its_first_telling_line),
		cmocka_unit_test(the_kernels_own_words_come_first),
		cmocka_unit_test(silence_gives_the_error_number),
		cmocka_unit_test(what_no_port_caused_names_none),
		cmocka_unit_test(the_words_that_help_are_found),
		cmocka_unit_test(a_port_without_a_name_is_told),
		cmocka_unit_test(long_complaints_are_cut),
		cmocka_unit_test(a_capture_takes_both_streams_and_gives_them_back),
		cmocka_unit_test(a_capture_survives_a_flood),
		cmocka_unit_test(a_zero_byte_does_not_end_a_capture),
		cmocka_unit_test(a_closed_stream_is_closed_again),
		cmocka_unit_test(what_was_captured_is_shown_on_demand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
