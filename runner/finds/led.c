#include "led.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/string.h"

static enum view_denial last_said(const struct led *led, const char *place) {
	for (size_t i = 0; i < led->places.count; i++)
		if (string_equal(led->places.items[i], place)) return led->denials[i];
	return VIEW_DENIES_READ;
}

static int ask(const struct layout_judge *judge, const struct led *before, struct led *led, struct error *error) {
	CLEANUP_FREE struct layout_mode *modes = mem_array(struct layout_mode, led->places.count + 1);
	int r = led->places.count > 0 ? judge->resolve(judge->context, &led->places, modes, error) : 0;
	const bool alone = r == -ECONNRESET;
	led->denials = mem_array(enum view_denial, led->places.count + 1);
	for (size_t i = 0; (r == 0 || alone) && i < led->places.count; i++)
		led->denials[i] = alone ? last_said(before, led->places.items[i]) : modes[i].denial;
	return alone ? 0 : r;
}

int led_judge(struct rules *rules, const struct facts *facts, const struct layout_judge *judge, struct led *led,
	      struct error *error) {
	struct led now = {0};
	for (size_t i = 0; i < rules->count; i++)
		if (rule_is_led(&rules->items[i], &facts->items[i])) strings_add(&now.places, facts->items[i].real);
	int r = ask(judge, led, &now, error);
	size_t at = 0;
	for (size_t i = 0; r == 0 && at < now.places.count && i < rules->count; i++)
		if (rule_is_led(&rules->items[i], &facts->items[i])) rules->items[i].there = now.denials[at++];
	struct led *old = r == 0 ? led : &now;
	strings_finish(&old->places);
	free(old->denials);
	if (r == 0) *led = now;
	return r;
}
