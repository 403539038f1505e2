/* SPDX-License-Identifier: BSD-3-Clause */
/* A type that zend_stream.h uses. */
#include <sys/types.h>
#include <sys/stat.h>
typedef struct _stat64 php_win32_ioutil_stat_t;
