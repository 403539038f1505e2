/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "detect.h"

/* No known Linux machine has an indexN directory above index4. */
#define MAX_INDEX 8

static ssize_t
read_field(unsigned index, const char *field, char *text, size_t size)
{
	char path[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path),
		"/sys/devices/system/cpu/cpu0/cache/index%u/%s", index, field);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

size_t
hone_cpu_detect_cache(unsigned level)
{
	char text[32], *end;

	for (unsigned i = 0; i < MAX_INDEX; i++) {
		if (read_field(i, "type", text, sizeof(text)) <= 0)
			return 0;
		if (text[0] == 'I') /* Instruction; not Data or Unified */
			continue;
		if (read_field(i, "level", text, sizeof(text)) <= 0 ||
			strtoul(text, NULL, 10) != level)
			continue;
		if (read_field(i, "size", text, sizeof(text)) <= 0)
			return 0;
		size_t size = strtoul(text, &end, 10);

		if (*end == 'K')
			size <<= 10;
		else if (*end == 'M')
			size <<= 20;
		return size;
	}
	return 0;
}
