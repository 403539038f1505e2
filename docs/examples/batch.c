/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hone/read_file.h>

struct count {
	char **paths;
	size_t lines, failed;
};

/* Called once for each file, in the order in which they are read. */
static int
done(size_t index, int error, struct hone_file_data *file, void *arg)
{
	struct count *count = arg;

	if (error < 0) {
		fprintf(stderr, "%s: %s\n", count->paths[index],
			strerror(-error));
		count->failed++;
		return 0; /* continue with the other files */
	}
	const char *at = file->data, *end = at + file->size;
	while ((at = memchr(at, '\n', (size_t)(end - at)))) {
		count->lines++;
		at++;
	}
	free(file->data); /* from malloc(): no other allocator was set */
	return 0;
}

int
main(int argc, char **argv)
{
	struct count count = {.paths = argv + 1};
	size_t n = argc > 1 ? (size_t)argc - 1 : 0;
	struct hone_batch_attr batch;
	struct hone_batch_used used;
	int error;

	hone_batch_attr_init(&batch);
	batch.used = &used;
	error = hone_read_files((const char *const *)count.paths, n, NULL, done,
		&count, &batch);
	if (error < 0) {
		fprintf(stderr, "batch: %s\n", strerror(-error));
		return EXIT_FAILURE;
	}
	printf("%zu lines in %zu files, %zu of them by io_uring\n", count.lines,
		n - count.failed, used.uring);
	return count.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
