// SPDX-License-Identifier: BSD-3-Clause
// Read once instead of in each file of a protocol, in builds with -Dquick=true (see io/pch/dpdk.h).
// Path: cold.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/proto.h"
