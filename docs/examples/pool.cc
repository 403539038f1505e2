// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <memory>
#include <new>
#include <system_error>
#include <hone/mempool.h>

struct packet {
	unsigned number;
	explicit packet(unsigned n) : number(n)
	{
	}
};

struct destroy_pool {
	void
	operator()(hone_mempool *p) const
	{
		hone_mempool_destroy(p);
	}
};
struct close_cache {
	void
	operator()(hone_mempool_cache *c) const
	{
		hone_mempool_cache_close(c);
	}
};
struct put_packet {
	hone_mempool_cache *cache;
	void
	operator()(packet *p) const
	{
		p->~packet();
		hone_mempool_put(cache, p);
	}
};
using pool_ptr = std::unique_ptr<hone_mempool, destroy_pool>;
using cache_ptr = std::unique_ptr<hone_mempool_cache, close_cache>;
using packet_ptr = std::unique_ptr<packet, put_packet>;

static void
check(int error)
{
	if (error < 0)
		throw std::system_error(-error, std::generic_category());
}

static pool_ptr
make_pool(size_t capacity)
{
	hone_mempool_attr attr;
	hone_mempool *pool;

	hone_mempool_attr_init(&attr);
	attr.object_size = sizeof(packet);
	attr.capacity = capacity;
	attr.cache_size = 1;
	check(hone_mempool_create(&pool, &attr));
	return pool_ptr(pool);
}

static packet_ptr
make_packet(hone_mempool_cache *cache, unsigned number)
{
	void *memory = hone_mempool_get(cache);

	if (!memory)
		throw std::bad_alloc();
	return packet_ptr(new (memory) packet(number), put_packet{cache});
}

int
main()
{
	// Destroyed in the reverse order: packets, the cache, the pool.
	pool_ptr pool = make_pool(2);
	hone_mempool_cache *opened;

	check(hone_mempool_cache_open(pool.get(), &opened));
	cache_ptr cache(opened);
	try {
		packet_ptr a = make_packet(cache.get(), 1);
		packet_ptr b = make_packet(cache.get(), 2);

		std::printf("packets %u and %u\n", a->number, b->number);
		packet_ptr c = make_packet(cache.get(), 3);
	} catch (const std::bad_alloc &) {
		std::puts("the pool is empty");
	}
	std::printf("packet %u\n", make_packet(cache.get(), 4)->number);
}
