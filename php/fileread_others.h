/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PHP_HONE_FILEREAD_OTHERS_H
#define PHP_HONE_FILEREAD_OTHERS_H
/* What other extensions may have put in the place of PHP's own code, or
 * before it: fileread_others.c. */
#include "fileread.h"

/*
 * When the module starts: remember PHP's operations of plain files. False if
 * they are not PHP's any more, for another extension was there first.
 */
bool hone_fileread_know_files(void);

/* Whether they still are. */
bool hone_fileread_same_files(void);

/* The same of the streams alone, not of what opens them. */
bool hone_fileread_same_streams(void);

/* Whether nothing but PHP's own code is behind that handler. */
bool hone_fileread_is_php(const char *name, zif_handler handler);

#endif
