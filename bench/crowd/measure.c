/* Measures deliveries: delays, joins, and messages that are lost or come twice. */
#include "crowd.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* 64 buckets for each power of two of microseconds: each is 1.6 % wide. */
#define BUCKETS (64 * 40)

struct times {
  uint64_t buckets[BUCKETS], all, max;
};

uint64_t delivered, bytes_read, refused, closed, owed;
static struct times delays, joins;
static uint64_t lost, doubled, disordered, errors, first_loss, last_back;
static uint64_t measured_from, last_delivery;
static double processor_before;
static char first_error[200];

static double processor_time(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void add(struct times *times, uint64_t ns) {
  uint64_t us = ns / 1000 + 1;
  uint32_t power = 63 - (uint32_t)__builtin_clzll(us);
  uint64_t part = (power >= 6 ? us >> (power - 6) : us << (6 - power)) & 63;
  uint64_t bucket = power * 64 + part;
  times->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
  times->all++;
  if (ns > times->max) times->max = ns;
}

/* The upper end of the bucket that holds the value, in milliseconds. */
static double quantile(const struct times *times, double part) {
  uint64_t seen = 0;
  for (uint32_t i = 0; i < BUCKETS; i++) {
    seen += times->buckets[i];
    if (seen > 0 && (double)seen >= part * (double)times->all) {
      double us = (double)(1ull << (i / 64)) * (1 + (i % 64 + 1) / 64.0);
      return us / 1000;
    }
  }
  return 0;
}

/* From now on a client has to get all that is sent in its room. */
static void expect(struct client *client) {
  client->high = room_count ? sent[client->room] : 0;
  client->base = client->high + 1;
  memset(client->seen, 0xff, sizeof client->seen);
}

/* Forgets all counts, and numbers messages from 1. */
void begin_measure(void) {
  delivered = bytes_read = refused = closed = 0;
  lost = doubled = disordered = errors = first_loss = last_back = 0;
  processor_before = processor_time();
  measured_from = last_delivery = now();
  *first_error = 0;
  memset(&delays, 0, sizeof delays);
  memset(&joins, 0, sizeof joins);
  for (uint32_t i = 0; i < room_count; i++) sent[i] = 0;
  for (uint32_t i = 0; i < count; i++)
    if (clients[i].base) expect(&clients[i]);
}

void note_joined(struct client *client, uint64_t at) {
  add(&joins, at - client->begun);
  if (first_loss) last_back = at;
  expect(client);
}

void note_loss(uint64_t at) {
  if (!first_loss) first_loss = at;
}

void note_error(const char *text, size_t size) {
  errors++;
  if (!*first_error)
    snprintf(first_error, sizeof first_error, "%.*s",
             (int)(size < 190 ? size : 190), text);
}

/* A message is lost when it has not come before the one that is WINDOW later. */
static void note_number(struct client *client, uint64_t seq) {
  if (client->base == 0 || seq < client->base) return;
  uint64_t *word = &client->seen[seq % WINDOW / 64], bit = 1ull << seq % 64;
  if (seq <= client->high) {
    if (client->high - seq >= WINDOW || *word & bit) doubled++;
    else *word |= bit;
    return;
  }
  while (client->high < seq) {
    uint64_t next = ++client->high;
    uint64_t *old = &client->seen[next % WINDOW / 64];
    if (!(*old >> next % 64 & 1)) lost++;
    *old &= ~(1ull << next % 64);
  }
  *word |= bit;
}

/* The ids of events define the order. */
void note_delivery(struct client *client, uint64_t at, uint64_t sent_at,
                   uint64_t seq, uint64_t event) {
  delivered++;
  last_delivery = at;
  add(&delays, at - sent_at);
  if (event <= client->event) disordered++;
  client->event = event;
  note_number(client, seq);
}

static uint64_t missing_of(const struct client *client) {
  uint64_t all = sent[client->room] > client->high
                     ? sent[client->room] - client->high
                     : 0;
  for (uint32_t i = 0; i < WINDOW / 64; i++)
    all += 64 - (uint64_t)__builtin_popcountll(client->seen[i]);
  return all;
}

/* How many deliveries are due to connected clients. */
uint64_t missing(void) {
  uint64_t all = 0;
  for (uint32_t i = 0; i < count && room_count; i++)
    if (clients[i].state == JOINED && clients[i].base)
      all += missing_of(&clients[i]);
  return all;
}

static void print_times(const char *name, const struct times *times) {
  printf("\"%s\":{\"count\":%llu,\"p50\":%.3f,\"p95\":%.3f,\"p99\":%.3f,"
         "\"max\":%.3f},",
         name, (unsigned long long)times->all, quantile(times, 0.5),
         quantile(times, 0.95), quantile(times, 0.99),
         (double)times->max / 1e6);
}

void print_report(uint32_t order) {
  printf("{\"order\":%u,\"clients\":%u,", order, joined);
  print_times("delay", &delays);
  print_times("join", &joins);
  printf("\"delivered\":%llu,\"bytes\":%llu,\"lost\":%llu,\"doubled\":%llu,"
         "\"disordered\":%llu,\"errors\":%llu,\"closed\":%llu,"
         "\"refused\":%llu,\"unanswered\":%llu,\"away\":%.3f,"
         "\"seconds\":%.3f,\"processor\":%.3f}\n",
         (unsigned long long)delivered, (unsigned long long)bytes_read,
         (unsigned long long)(lost + missing()), (unsigned long long)doubled,
         (unsigned long long)disordered, (unsigned long long)errors,
         (unsigned long long)closed, (unsigned long long)refused,
         (unsigned long long)owed,
         last_back > first_loss ? (double)(last_back - first_loss) / 1e6 : 0,
         (double)(last_delivery - measured_from) / 1e9,
         processor_time() - processor_before);
  fflush(stdout);
  if (*first_error) fprintf(stderr, "crowd: %s\n", first_error);
}
