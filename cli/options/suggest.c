/* SPDX-License-Identifier: BSD-3-Clause */
/* "did you mean": the known word that is most similar to an unknown one. */
#include <string.h>
#include "cli.h"

/* Longer words are not typing errors. */
#define MAX_WORD 31

static unsigned
least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;
	return ab < c ? ab : c;
}

/*
 * Returns the number of characters to insert, remove or replace, or of adjacent
 * characters to swap, that turn one word into the other (optimal string
 * alignment). Both are at most MAX_WORD long.
 */
static unsigned
distance(const char *a, const char *b)
{
	unsigned rows[3][MAX_WORD + 1];
	size_t m = strlen(a), n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= m; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *above = rows[(i - 1) % 3];
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= n; j++) {
			bool same = a[i - 1] == b[j - 1];
			row[j] = least(above[j] + 1, row[j - 1] + 1,
				above[j - 1] + !same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
				a[i - 2] == b[j - 1])
				row[j] = least(row[j],
					rows[(i - 2) % 3][j - 2] + 1, row[j]);
		}
	}
	return rows[m % 3][n];
}

void
suggest_begin(struct suggestion *suggestion, const char *word)
{
	size_t length = strlen(word);

	/* One error for three characters; one error in a shorter word. */
	*suggestion = (struct suggestion){.word = word,
		.limit = length > MAX_WORD ? 0
			 : length < 3      ? 1
					   : (unsigned)(length / 3)};
}

void
suggest_offer(struct suggestion *suggestion, const char *known)
{
	if (suggestion->limit == 0 || strlen(known) > MAX_WORD)
		return;
	unsigned found = distance(suggestion->word, known);
	if (found > suggestion->limit ||
		(suggestion->best && found >= suggestion->distance))
		return;
	suggestion->best = known;
	suggestion->distance = found;
}

const char *
suggest_text(const struct suggestion *suggestion, const char *before, char *buf)
{
	buf[0] = '\0';
	if (suggestion->best)
		snprintf(buf, CLI_SUGGESTION, "; did you mean %s%s?", before,
			suggestion->best);
	return buf;
}
