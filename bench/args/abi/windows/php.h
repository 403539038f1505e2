/* SPDX-License-Identifier: BSD-3-Clause */
/* Only the Zend headers of php.h: Debian lacks the others for Windows. */
#include "zend.h"
#include "zend_API.h"
