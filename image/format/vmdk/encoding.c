/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of files in a descriptor whose encoding is not UTF-8: on this machine,
 * most files with such names are in UTF-8.
 */
#include <iconv.h>
#include <stdlib.h>
#include <strings.h>
#include "format/vmdk/source.h"

/* A letter has at most 4 bytes in UTF-8, and at least one in the other. */
#define MOST_BYTES 4

/*
 * Returns iconv's name for an encoding of VMware, or NULL. Other names are not
 * passed on: an image chose them, and iconv_open() loads a module by its name.
 */
static const char *
find_encoding(const char *name)
{
	static const struct {
		const char *vmware;
		const char *iconv;
	} rows[] = {
		{"GBK", "GBK"},
		{"GB2312", "GBK"},
		{"GB18030", "GB18030"},
		{"windows-936", "GBK"},
		{"Big5", "BIG5"},
		{"windows-950", "BIG5"},
		{"Shift_JIS", "SHIFT_JIS"},
		{"windows-932", "CP932"},
		{"EUC-JP", "EUC-JP"},
		{"EUC-KR", "EUC-KR"},
		{"windows-949", "CP949"},
		{"windows-1250", "CP1250"},
		{"windows-1251", "CP1251"},
		{"windows-1252", "CP1252"},
		{"ISO-8859-1", "ISO-8859-1"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcasecmp(name, rows[i].vmware) == 0)
			return rows[i].iconv;
	return NULL;
}

char *
vmdk_utf8_name(const struct vmdk_descriptor *descriptor, const char *name)
{
	const char *from = descriptor->encoding
				   ? find_encoding(descriptor->encoding)
				   : NULL;
	size_t left = strlen(name), room = MOST_BYTES * left;
	iconv_t convert = from ? iconv_open("UTF-8", from) : (iconv_t)-1;

	if (convert == (iconv_t)-1)
		return NULL;
	char *copy = strdup(name), *at = copy;
	char *utf8 = calloc(1, room + 1), *to = utf8;
	bool whole = copy && utf8 &&
		     iconv(convert, &at, &left, &to, &room) != (size_t)-1 &&
		     left == 0;
	iconv_close(convert);
	free(copy);
	if (whole)
		return utf8;
	free(utf8);
	return NULL;
}
