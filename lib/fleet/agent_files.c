// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "fleet/agent_files.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/fleet_talk.h"
#include "document/interval_file.h"

#define PIECE    65536
#define DIGITS   9 // of the number of a run, at most
#define SUM_SIZE 32

bool agent_files_is_file(const char *name)
{
	size_t digits;

	if (strcmp(name, TALK_EVENTS) == 0)
		return true;
	if (strncmp(name, "run-", 4) != 0)
		return false;
	name += 4;
	digits = strspn(name, "0123456789");
	name += digits;
	return digits > 0 && digits <= DIGITS &&
	       (strcmp(name, ".json") == 0 || strcmp(name, ".json" INTERVAL_FILE_SUFFIX) == 0);
}

bool agent_files_is_hash(const char *text)
{
	return strlen(text) == AGENT_FILES_HASH - 1 &&
	       strspn(text, "0123456789abcdef") == AGENT_FILES_HASH - 1;
}

static int add_up(int fd, EVP_MD_CTX *sum, uint64_t *size)
{
	char piece[PIECE];
	ssize_t len;

	*size = 0;
	while ((len = pread(fd, piece, sizeof(piece), (off_t)*size)) > 0) {
		EVP_DigestUpdate(sum, piece, (size_t)len);
		*size += (uint64_t)len;
	}
	return len < 0 ? -errno : 0;
}

int agent_files_hash(int fd, uint64_t *size, char hash[AGENT_FILES_HASH])
{
	EVP_MD_CTX *sum = EVP_MD_CTX_new();
	unsigned char bytes[SUM_SIZE];
	struct stat st;
	int rc = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;

	if (rc == 0 && (!sum || EVP_DigestInit_ex(sum, EVP_sha256(), NULL) != 1))
		rc = -ENOMEM;
	if (rc == 0)
		rc = add_up(fd, sum, size);
	if (rc == 0)
		EVP_DigestFinal_ex(sum, bytes, NULL);
	EVP_MD_CTX_free(sum);
	for (unsigned i = 0; rc == 0 && i < SUM_SIZE; i++)
		sprintf(hash + 2 * i, "%02x", bytes[i]);
	return rc;
}
