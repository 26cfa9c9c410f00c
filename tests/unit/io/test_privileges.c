// SPDX-License-Identifier: BSD-3-Clause
// Capabilities of threads, given up by real threads of this test. Without any, less is tested.
#include "ports.h"

#include <linux/capability.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/host/privileges.h"

struct thread {
	bool starts_programs;
	int err;
	uint64_t left;
	int no_new;
};

static void *drop(void *arg)
{
	struct thread *t = arg;

	t->err = privileges_drop(t->starts_programs);
	t->left = capabilities_now();
	t->no_new = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	return NULL;
}

static void a_thread_gives_up_its_own(void **state)
{
	uint64_t before = capabilities_now();

	for (int i = 0; i < 2; i++) {
		struct thread t = {.starts_programs = i, .err = 1, .left = 1};
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, drop, &t), 0);
		pthread_join(thread, NULL);
		assert_int_equal(t.err, 0);
		assert_int_equal(t.left, 0);
		assert_int_equal(t.no_new, !i);
		assert_int_equal(capabilities_now(), before);
		assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
	}
}

// In a child, as it is for good.
static void what_is_kept_is_what_was_there(void **state)
{
	const uint64_t wanted = NEED_CAP(CAP_NET_ADMIN) | NEED_CAP(CAP_SYS_ADMIN);
	const uint64_t of_user = NEED_CAP(CAP_DAC_OVERRIDE) | NEED_CAP(CAP_DAC_READ_SEARCH) |
	                         NEED_CAP(CAP_CHOWN) | NEED_CAP(CAP_FOWNER) | NEED_CAP(CAP_FSETID) |
	                         NEED_CAP(CAP_KILL);
	uint64_t before = capabilities_now();
	int status;

	if (fork() == 0) {
		bool ok = privileges_keep(wanted) == 0 &&
		          capabilities_now() == (before & (wanted | of_user)) &&
		          privileges_keep(0) == 0 && capabilities_now() == (before & of_user) &&
		          privileges_keep(UINT64_MAX) == 0 && // none comes back
		          capabilities_now() == (before & of_user);

		_exit(ok ? 0 : 1);
	}
	wait(&status);
	assert_int_equal(status, 0);
}

static void capabilities_have_their_names(void **state)
{
	char buf[512], small[8];

	assert_string_equal(capabilities_names(NEED_CAP(CAP_NET_RAW) | NEED_CAP(CAP_IPC_LOCK), buf,
				    sizeof(buf)),
		"CAP_NET_RAW, CAP_IPC_LOCK");
	assert_string_equal(capabilities_names(0, buf, sizeof(buf)), "");
	capabilities_names(UINT64_MAX, small, sizeof(small));
	assert_int_equal(strlen(small), 7);
	capabilities_command(NEED_CAP(CAP_NET_RAW) | NEED_CAP(CAP_IPC_LOCK), buf, sizeof(buf));
	assert_non_null(strstr(buf, "`sudo setcap cap_net_raw,cap_ipc_lock+ep /"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_gives_up_its_own),
		cmocka_unit_test(what_is_kept_is_what_was_there),
		cmocka_unit_test(capabilities_have_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
