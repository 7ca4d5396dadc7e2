/* A crowd of websocket clients for benchmarks, in one thread with epoll. It is cheap,
 * because it shares the machine with the server that it measures.
 *
 * It reads orders from the standard input, one a line, each with a number in front. It
 * answers an order with one line of JSON that has this number, when the order is done.
 * Orders that take time run side by side.
 *
 *   number N               the number of the first client; several processes share a crowd
 *   tokens FILE            the tokens of clients, one a line
 *   choices WORD …         the values of {choice}, in turn
 *   room ID                adds a room; client i is in room i modulo their number
 *   script                 begins a new script, for clients that are opened afterwards
 *   step TEXT              adds a frame to it; each is sent after the answer to the one before
 *   small                  clients opened afterwards have small buffers in the kernel
 *   open COUNT RATE        opens clients, RATE a second; done when all have run their script
 *   measure                forgets all counts, and numbers messages from 1
 *   say COUNT RATE OF TEXT sends COUNT messages, RATE a second, from the first OF clients in turn
 *   each MS TEXT           every client sends a frame once, evenly in this time
 *   on TEXT                every client answers each delivery with a frame; none without a text
 *   stall, resume          the clients stop reading, and read again
 *   again MS               clients that lose their connection connect again after this time, and
 *                          after each refusal
 *   await                  done when all clients have run their scripts
 *   report SENT            waits until nothing comes any more, and reports the counts. SENT is how
 *                          many messages another process sent in the room
 *
 * In a text, {i} is the client's number, {token}, {room} and {choice} are its own, {seq}
 * counts messages in the room, {ns} is the time in nanoseconds, and {event} is the id of
 * the event that is answered. A message is "seq={seq} ns={ns}" and anything behind it.
 *
 * Usage: crowd PORT PREFIX PATH. A text frame that begins with PREFIX is a delivery.
 */
#include "crowd.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE (180 * NS)
/* Nothing is read for this time after each turn. Every frame wakes a process that waits in
 * epoll_wait, at the expense of the writer; this one finds many frames at once. */
#define PAUSE MS
/* Nothing more is expected after so long without a delivery, if all came and if not. */
#define QUIET (NS / 2)
#define LONG_QUIET (5 * NS)
#define MAX_TASKS 8
#define MAX_AT_ONCE 64
#define STDIN UINT32_MAX

enum kind { NONE, OPEN, SAY, EACH, AWAIT, REPORT };

/* An order that takes time: `all` steps at even intervals, then a wait. */
struct task {
  enum kind kind;
  uint32_t order, done, all, of;
  uint64_t begun, ended;
  double interval;
  char *text;
  uint64_t quiet_since, quiet_at; /* of a report: how many had come when */
};

struct client clients[MAX_CLIENTS];
uint32_t count, joined;
static struct task tasks[MAX_TASKS];
static struct script *script;
static bool small;
static char orders[1 << 20];
static size_t orders_size;

uint64_t now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (uint64_t)at.tv_sec * NS + (uint64_t)at.tv_nsec;
}

_Noreturn void fail(const char *why) {
  fprintf(stderr, "crowd: %s: %s\n", why, strerror(errno));
  exit(1);
}

static void answer(uint32_t order) {
  printf("{\"order\":%u,\"clients\":%u}\n", order, joined);
  fflush(stdout);
}

static struct task *new_task(uint32_t order, enum kind kind) {
  for (struct task *task = tasks; task < tasks + MAX_TASKS; task++) {
    if (task->kind != NONE) continue;
    *task = (struct task){.kind = kind, .order = order, .begun = now()};
    return task;
  }
  errno = ENOSPC;
  fail("tasks");
}

static uint64_t due_of(const struct task *task) {
  return task->begun + (uint64_t)(task->done * task->interval);
}

static void open_next(void) {
  if (count == MAX_CLIENTS) {
    errno = ENOSPC;
    fail("clients");
  }
  struct client *client = &clients[count++];
  client->room = room_count ? (number + count - 1) % room_count : 0;
  client->script = script;
  client->small = small;
  begin(client);
}

static void say_next(const struct task *task) {
  static uint32_t turn;
  for (uint32_t tried = 0; tried < task->of; tried++) {
    struct client *client = &clients[turn++ % task->of];
    if (client->state != JOINED) continue;
    say(client, task->text, ++sent[client->room], 0);
    return;
  }
  errno = ENOTCONN;
  fail("no client can send");
}

static void step(struct task *task) {
  if (task->kind == OPEN) open_next();
  if (task->kind == SAY) say_next(task);
  if (task->kind == EACH && clients[task->done].state == JOINED)
    say(&clients[task->done], task->text, 0, 0);
  if (++task->done == task->all) task->ended = now();
}

static bool is_over(struct task *task, uint64_t at) {
  if (at > task->ended + PATIENCE) return true;
  if (task->kind == SAY || task->kind == EACH) return owed == 0;
  if (task->kind != REPORT) return joined == count;
  if (delivered != task->quiet_since || owed > 0) task->quiet_at = at;
  task->quiet_since = delivered;
  uint64_t quiet = at - task->quiet_at;
  return quiet > QUIET && (quiet > LONG_QUIET || missing() == 0);
}

static void finish(struct task *task) {
  if (task->kind == REPORT) print_report(task->order);
  else answer(task->order);
  free(task->text);
  task->kind = NONE;
}

/* Does all due work. @returns when it has to be called again, at the latest */
static uint64_t run_tasks(void) {
  uint64_t at = now(), next = at + NS / 10;
  for (struct task *task = tasks; task < tasks + MAX_TASKS; task++) {
    if (task->kind == NONE) continue;
    for (int i = 0; i < MAX_AT_ONCE; i++)
      if (task->done < task->all && due_of(task) <= at) step(task);
    if (task->done < task->all) {
      if (due_of(task) < next) next = due_of(task);
    } else if (is_over(task, at)) finish(task);
    else if (at + 10 * MS < next) next = at + 10 * MS;
  }
  return next;
}

/* Connects clients whose time has come, some at a time. */
static uint64_t run_returns(uint64_t next) {
  if (!again || joined == count) return next;
  uint64_t at = now();
  int begun = 0;
  for (uint32_t i = 0; i < count; i++) {
    struct client *client = &clients[i];
    if (client->state != CLOSED || client->due == 0) continue;
    if (client->due <= at && begun++ < MAX_AT_ONCE) begin(client);
    else if (client->due < next) next = client->due;
  }
  return next;
}

static uint32_t take_count(char **rest) {
  return (uint32_t)strtoul(*rest, rest, 10);
}

static char *take_text(char *rest) {
  char *copy = strdup(*rest == ' ' ? rest + 1 : rest);
  if (!copy) fail("memory");
  return copy;
}

static void add_room(char *id) {
  rooms = realloc(rooms, (room_count + 1) * sizeof *rooms);
  sent = realloc(sent, (room_count + 1) * sizeof *sent);
  if (!rooms || !sent) fail("memory");
  sent[room_count] = 0;
  rooms[room_count++] = id;
}

static void begin_task(uint32_t order, enum kind kind, char *rest) {
  struct task *task = new_task(order, kind);
  if (kind == OPEN || kind == SAY) {
    task->all = take_count(&rest);
    task->interval = (double)NS / strtod(rest, &rest);
  }
  if (kind == SAY || kind == REPORT) task->of = take_count(&rest);
  if (kind == REPORT && task->of > 0) sent[0] = task->of;
  if (kind == EACH) {
    task->all = count;
    task->interval = (double)MS * strtod(rest, &rest) / count;
  }
  if (kind == SAY || kind == EACH) task->text = take_text(rest);
  if (kind == AWAIT || kind == REPORT) task->ended = task->quiet_at = now();
}

static bool is_task(uint32_t order, const char *name, char *rest) {
  static const char *const names[] = {
      [OPEN] = "open",   [SAY] = "say",       [EACH] = "each",
      [AWAIT] = "await", [REPORT] = "report",
  };
  for (enum kind kind = OPEN; kind <= REPORT; kind++) {
    if (strcmp(name, names[kind])) continue;
    begin_task(order, kind, rest);
    return true;
  }
  return false;
}

static void obey(char *line) {
  uint32_t order = take_count(&line);
  char *name = line + 1, *rest = name + strcspn(name, " ");
  if (*rest) *rest++ = 0;
  if (is_task(order, name, rest)) return;
  if (!strcmp(name, "number")) number = take_count(&rest);
  else if (!strcmp(name, "tokens")) set_tokens(rest);
  else if (!strcmp(name, "choices")) set_choices(rest);
  else if (!strcmp(name, "room")) add_room(take_text(rest));
  else if (!strcmp(name, "script")) script = calloc(1, sizeof *script);
  else if (!strcmp(name, "step") && script && script->steps < MAX_STEPS)
    script->frames[script->steps++] = take_text(rest);
  else if (!strcmp(name, "small")) small = true;
  else if (!strcmp(name, "measure")) begin_measure();
  else if (!strcmp(name, "on")) on_delivery = *rest ? take_text(rest) : NULL;
  else if (!strcmp(name, "again")) again = take_count(&rest) * MS;
  else if (!strcmp(name, "stall") || !strcmp(name, "resume"))
    for (uint32_t i = 0; i < count; i++) stall(&clients[i], *name == 's');
  else {
    fprintf(stderr, "crowd: %s cannot be done\n", name);
    exit(2);
  }
  answer(order);
}

static void read_orders(void) {
  ssize_t size = read(STDIN_FILENO, orders + orders_size,
                      sizeof orders - orders_size);
  if (size <= 0) exit(0);
  orders_size += (size_t)size;
  char *begin = orders, *end;
  while ((end = memchr(begin, '\n', orders_size))) {
    *end = 0;
    obey(begin);
    orders_size -= (size_t)(end + 1 - begin);
    begin = end + 1;
  }
  memmove(orders, begin, orders_size);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: crowd PORT PREFIX PATH\n");
    return 2;
  }
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)atoi(argv[1]));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  prefix = argv[2];
  path = argv[3];
  polling = epoll_create1(0);
  if (polling < 0) fail("epoll_create1");
  struct epoll_event input = {.events = EPOLLIN, .data.u32 = STDIN};
  if (epoll_ctl(polling, EPOLL_CTL_ADD, STDIN_FILENO, &input))
    fail("epoll_ctl");
  for (;;) {
    static struct epoll_event events[1024];
    uint64_t next = run_returns(run_tasks()), at = now();
    int wait = next > at ? (int)((next - at + MS - 1) / MS) : 0;
    int ready = epoll_wait(polling, events, 1024, wait);
    if (ready < 0 && errno != EINTR) fail("epoll_wait");
    for (int i = 0; i < ready; i++) {
      if (events[i].data.u32 == STDIN) read_orders();
      else serve(&clients[events[i].data.u32], events[i].events);
    }
    if (ready == 1024) continue;
    struct timespec pause = {.tv_nsec = PAUSE};
    nanosleep(&pause, NULL);
  }
}
