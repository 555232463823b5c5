/* Dictionaries: the entries in the order in which their keys came, and from 9 on a table of hashes to find them. */
#include <string.h>

#include "engine/base/fnv.h"
#include "engine/text/jinja/value/value.h"

enum { FEW = 8 };

static uint64_t hash(struct arena *a, struct value key)
{
    int64_t whole;
    uint64_t h = FNV_START;
    if (value_whole(key, &whole)) return fnv_step(h, (uint64_t)whole);
    switch (key.kind) {
    case VALUE_STR:
        return fnv_bytes(h, key.str->bytes, key.str->length);
    case VALUE_FLOAT:
        return fnv_bytes(h, &key.real, sizeof key.real);
    case VALUE_LIST:
        if (key.list->form != LIST_TUPLE) break;
        for (size_t i = 0; i < key.list->n; i++) h = fnv_step(h, hash(a, key.list->items[i]));
        return h;
    case VALUE_UNDEFINED:
    case VALUE_NONE:
        return h;
    default:
        break;
    }
    trap_fail(a->trap, TDM_E_REFUSED, "unhashable type: '%s'", value_type(key));
}

/* The table's slot of a key: where it is, or where it would be. */
static size_t slot_of(struct arena *a, const struct dict *dict, struct value key, uint64_t h)
{
    size_t slot = (h ^ h >> 32) & (dict->n_slots - 1);
    while (dict->slots[slot] && !value_equal(a, dict->entries[dict->slots[slot] - 1].key, key))
        slot = (slot + 1) & (dict->n_slots - 1);
    return slot;
}

struct dict *dict_new(struct arena *a, bool data)
{
    struct dict *dict = arena_take(a, sizeof *dict);
    *dict = (struct dict){.data = data};
    return dict;
}

struct value *dict_find(struct arena *a, const struct dict *dict, struct value key)
{
    uint64_t h = hash(a, key);
    if (dict->slots) {
        uint32_t found = dict->slots[slot_of(a, dict, key, h)];
        return found ? &dict->entries[found - 1].value : NULL;
    }
    for (size_t i = 0; i < dict->n; i++)
        if (value_equal(a, dict->entries[i].key, key)) return &dict->entries[i].value;
    return NULL;
}

struct value *dict_find_text(struct arena *a, const struct dict *dict, struct span key)
{
    struct str s = {.bytes = key.bytes, .length = key.length};
    return dict_find(a, dict, value_str(&s));
}

void dict_put(struct arena *a, struct dict *dict, struct value key, struct value item)
{
    struct value *there = dict_find(a, dict, key);
    if (there) {
        *there = item;
        return;
    }
    if (dict->n == dict->room) {
        size_t room = dict->room ? 2 * dict->room : 4;
        dict->entries = arena_grow(a, dict->entries, dict->n * sizeof *dict->entries, room * sizeof *dict->entries);
        dict->room = room;
    }
    dict->entries[dict->n++] = (struct dict_entry){key, item};
    if (dict->n <= FEW) return;
    if (dict->n * 2 <= dict->n_slots) {
        dict->slots[slot_of(a, dict, key, hash(a, key))] = (uint32_t)dict->n;
        return;
    }
    dict->n_slots = dict->n_slots ? 2 * dict->n_slots : 4 * FEW;
    dict->slots = arena_clear(a, dict->n_slots, sizeof *dict->slots);
    for (size_t i = 0; i < dict->n; i++)
        dict->slots[slot_of(a, dict, dict->entries[i].key, hash(a, dict->entries[i].key))] = (uint32_t)i + 1;
}
