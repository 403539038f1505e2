/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests ahead of reads. */
#include "store/http/http.h"

/* Several threads read chunks out of order. */
#define SLACK ((uint64_t)4 << 20)

static bool
continues(const struct http_track *track, uint64_t offset)
{
	return track->used && offset + SLACK >= track->end &&
	       offset <= track->end + SLACK;
}

/* Returns the sequence that a read continues, or a new one. */
static struct http_track *
find_track(struct http *http, uint64_t offset, uint64_t end)
{
	struct http_track *oldest = &http->tracks[0];

	for (size_t i = 0; i < HTTP_TRACKS; i++) {
		struct http_track *track = &http->tracks[i];
		if (continues(track, offset)) {
			track->bytes += end - offset;
			if (track->end < end)
				track->end = end;
			return track;
		}
		if (track->used < oldest->used)
			oldest = track;
	}
	*oldest = (struct http_track){.end = end};
	return oldest;
}

void
http_ahead_begin(struct http *http)
{
	http->tracks[0] =
		(struct http_track){.bytes = HTTP_AHEAD, .used = ++http->tick};
	http_ahead(http, 0, 0);
}

void
http_ahead(struct http *http, uint64_t offset, uint64_t end)
{
	if (http->inspect)
		return;
	struct http_track *track = find_track(http, offset, end);
	/* A short sequence, such as the tables of a header, asks for little. */
	uint64_t window =
		track->bytes < HTTP_AHEAD / 2 ? track->bytes * 2 : HTTP_AHEAD;
	uint64_t least = window / 4 < HTTP_LONG ? window / 4 : HTTP_LONG;

	track->used = ++http->tick;
	if (track->ahead < track->end)
		track->ahead = track->end;
	uint64_t want = track->end + window;
	/* Requests of a few blocks would take a round trip each. */
	if (window < HTTP_BLOCK || want < track->ahead + least)
		return;
	/* No short request follows the long ones, except at the end. */
	if (want < http->store.size)
		want -= (want - track->ahead) % least;
	track->ahead = http_blocks_want(http, track->ahead, want, false);
}
