/* SPDX-License-Identifier: BSD-3-Clause */
/* What php.h has of Zend: its other headers are not in Debian for Windows. */
#include "zend.h"
#include "zend_API.h"
