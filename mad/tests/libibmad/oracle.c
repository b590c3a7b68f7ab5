/* Prints what libibmad does to the fields, constants and codes that oracle.rs asks about: each a line of kind, name and results. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <infiniband/mad.h>

static uint64_t state = 0x9e3779b97f4a7c15;

static uint8_t random_byte(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 32;
}

static void randomize(uint8_t *bytes, int count)
{
	while (count--)
		*bytes++ = random_byte();
}

static void hex(const uint8_t *bytes, int count)
{
	putchar(' ');
	while (count--)
		printf("%02x", *bytes++);
}

static void hex64(uint64_t value)
{
	printf(" %016llx", (unsigned long long)value);
}

/* The number of bits, which no function of libibmad tells: of wide fields by the bytes written, of others by their largest value. */
static int width_of(enum MAD_FIELDS id)
{
	uint8_t block[256], ones[256];
	int bytes = 0;

	memset(block, 0, sizeof block);
	memset(ones, 0xff, sizeof ones);
	mad_set_array(block, 0, id, ones);
	for (int i = 0; i < 256; i++)
		bytes += block[i] == 0xff;
	return bytes > 4 ? 8 * bytes : __builtin_popcount(mad_get_field(ones, 0, id));
}

/* libibmad has three ways to get at a field, by its width. Its mad_set_field spoils the neighbours when the value is too wide: cut it before. */
static void field(const char *name, enum MAD_FIELDS id)
{
	uint8_t block[256], value[256];
	int width = width_of(id);

	printf("field %s", name);
	memset(block, 0, sizeof block);
	memset(value, 0xff, sizeof value);
	if (width > 64)
		mad_set_array(block, 0, id, value);
	else if (width > 32)
		mad_set_field64(block, 0, id, ~0ULL);
	else
		mad_set_field(block, 0, id, ~0U >> (32 - width));
	hex(block, sizeof block);
	for (int round = 0; round < 16; round++) {
		randomize(block, sizeof block);
		hex(block, sizeof block);
		if (width > 64) {
			mad_get_array(block, 0, id, value);
			hex(value, width / 8);
			randomize(value, width / 8);
			hex(value, width / 8);
			mad_set_array(block, 0, id, value);
		} else {
			uint64_t other;
			randomize(value, sizeof other);
			memcpy(&other, value, sizeof other);
			other >>= 64 - width;
			hex64(width > 32 ? mad_get_field64(block, 0, id) : mad_get_field(block, 0, id));
			hex64(other);
			if (width > 32)
				mad_set_field64(block, 0, id, other);
			else
				mad_set_field(block, 0, id, other);
		}
		hex(block, sizeof block);
	}
	putchar('\n');
}

static void dump(const char *name, ib_mad_dump_fn *function)
{
	char text[4096];

	for (int value = 0; value < 256 + 32; value++) {
		/* Codes of a byte, then single bits. */
		unsigned code = value < 256 ? value : 1U << (value - 256);
		memset(text, 0, sizeof text);
		function(text, sizeof text, &code, sizeof code);
		for (char *at = text; *at; at++)
			if (*at == '\n')
				*at = ' ';
		printf("dump %s %u %s\n", name, code, text);
	}
}

int main(void)
{
CALLS
	return 0;
}
