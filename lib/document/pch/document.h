// SPDX-License-Identifier: BSD-3-Clause
// Read once instead of in each file that works on results, in builds with -Dquick=true (see
// io/pch/dpdk.h). Path: cold.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "document/document.h"
#include "engine/config/config.h"
#include "engine/result/result.h"
#include "stats/text.h"
