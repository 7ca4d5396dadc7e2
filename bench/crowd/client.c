/* One websocket client: its connection, its frames, and its script. */
#include "crowd.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_SIZE (1 << 22)
/* Memory for the rest of a frame that is larger is given back. */
#define KEPT_SIZE 4096
#define FRAME_SIZE 65536
/* An address has about 28,000 ports for connections. */
#define CLIENTS_PER_ADDRESS 10000

struct sockaddr_in address;
const char *path, *prefix;
int polling;
char **rooms;
uint64_t *sent;
uint32_t room_count;
char *on_delivery;
uint64_t again;
uint32_t number;
static char buffer[READ_SIZE];

static void watch(struct client *client, uint32_t events) {
  struct epoll_event event = {.events = events,
                              .data.u32 = (uint32_t)(client - clients)};
  if (epoll_ctl(polling, EPOLL_CTL_MOD, client->fd, &event)) fail("epoll_ctl");
}

static void lose(struct client *client) {
  if (client->state == CLOSED) return;
  uint64_t at = now();
  if (client->state == JOINED || client->state == STALLED) joined--;
  if (client->state == UPGRADING) refused++;
  else {
    closed++;
    note_loss(at);
  }
  close(client->fd);
  client->state = CLOSED;
  client->rest_size = client->out_size = 0;
  client->base = 0;
  owed -= client->owed;
  client->owed = 0;
  client->due = again ? at + again : 0;
}

static void transmit(struct client *client, const char *bytes, size_t size) {
  if (client->out_size == 0) {
    ssize_t done = send(client->fd, bytes, size, MSG_NOSIGNAL);
    if (done == (ssize_t)size) return;
    if (done < 0) {
      if (errno != EAGAIN) {
        lose(client);
        return;
      }
      done = 0;
    }
    bytes += done;
    size -= (size_t)done;
    watch(client, EPOLLIN | EPOLLOUT);
  }
  client->out = realloc(client->out, client->out_size + size);
  if (!client->out) fail("memory");
  memcpy(client->out + client->out_size, bytes, size);
  client->out_size += size;
}

/* Sends a text frame. RFC 6455 asks for a mask; one of zeros is cheap. */
void say(struct client *client, const char *text, uint64_t seq,
         uint64_t event) {
  static char frame[FRAME_SIZE + 8];
  char *body = frame + 8;
  size_t size = fill(body, FRAME_SIZE, text, client, seq, event);
  char *head = body - (size < 126 ? 6 : 8);
  head[0] = (char)0x81;
  if (size < 126) head[1] = (char)(0x80 | size);
  else {
    head[1] = (char)(0x80 | 126);
    head[2] = (char)(size >> 8);
    head[3] = (char)size;
  }
  memset(body - 4, 0, 4);
  owed++;
  client->owed++;
  transmit(client, head, size + (size_t)(body - head));
}

static void set_option(int fd, int level, int name, int value) {
  if (setsockopt(fd, level, name, &value, sizeof value)) fail("setsockopt");
}

/* Connects. `serve` does the rest. */
void begin(struct client *client) {
  client->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (client->fd < 0) fail("socket");
  set_option(client->fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(client->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
  if (client->small) {
    set_option(client->fd, SOL_SOCKET, SO_RCVBUF, 4096);
    set_option(client->fd, IPPROTO_TCP, TCP_MAXSEG, 536);
  }
  uint32_t i = number + (uint32_t)(client - clients);
  struct sockaddr_in from = {
      .sin_family = AF_INET,
      .sin_addr.s_addr = htonl(INADDR_LOOPBACK + i / CLIENTS_PER_ADDRESS)};
  if (bind(client->fd, (struct sockaddr *)&from, sizeof from)) fail("bind");
  client->begun = now();
  client->due = client->base = client->event = 0;
  client->step = 0;
  client->state = UPGRADING;
  if (connect(client->fd, (struct sockaddr *)&address, sizeof address) &&
      errno != EINPROGRESS) {
    lose(client);
    return;
  }
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT,
                              .data.u32 = (uint32_t)(client - clients)};
  if (epoll_ctl(polling, EPOLL_CTL_ADD, client->fd, &event)) fail("epoll_ctl");
  char request[512];
  int size = snprintf(request, sizeof request,
                      "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                      "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
                      "Sec-WebSocket-Version: 13\r\n\r\n",
                      path, ntohs(address.sin_port));
  client->out = realloc(client->out, (size_t)size);
  if (!client->out) fail("memory");
  memcpy(client->out, request, (size_t)size);
  client->out_size = (size_t)size;
}

/* Stops or resumes reading. */
void stall(struct client *client, bool stalls) {
  if (client->state != (stalls ? JOINED : STALLED)) return;
  client->state = stalls ? STALLED : JOINED;
  watch(client, stalls ? 0 : EPOLLIN);
}

static void advance(struct client *client, uint64_t at) {
  if (client->step < client->script->steps) {
    client->state = JOINING;
    say(client, client->script->frames[client->step++], 0, 0);
    return;
  }
  client->state = JOINED;
  joined++;
  note_joined(client, at);
}

/* @param hint where the key was found last; most frames have it there again */
static uint64_t number_after(const char *text, size_t size, const char *key,
                             size_t length, size_t *hint) {
  if (*hint + length > size || memcmp(text + *hint, key, length)) {
    const char *found = memmem(text, size, key, length);
    if (!found) return 0;
    *hint = (size_t)(found - text);
  }
  uint64_t value = 0;
  for (size_t at = *hint + length; at < size; at++) {
    if (text[at] < '0' || text[at] > '9') break;
    value = value * 10 + (uint64_t)(text[at] - '0');
  }
  return value;
}

static bool begins(const char *text, size_t size, const char *with) {
  size_t length = strlen(with);
  return size >= length && !memcmp(text, with, length);
}

static void take_text(struct client *client, const char *text, size_t size,
                      uint64_t at) {
  static size_t seq_hint, ns_hint, event_hint;
  if (begins(text, size, prefix)) {
    uint64_t ns = number_after(text, size, " ns=", 4, &ns_hint);
    if (ns == 0) return;
    uint64_t seq = number_after(text, size, "seq=", 4, &seq_hint);
    uint64_t event = number_after(text, size, "\"event_id\":", 11, &event_hint);
    note_delivery(client, at, ns, seq, event);
    if (on_delivery && client->state == JOINED)
      say(client, on_delivery, seq, event);
    return;
  }
  bool is_error = begins(text, size, "[\"error\"");
  if (is_error) note_error(text, size);
  if (!is_error && !begins(text, size, "[\"success\"") &&
      !begins(text, size, "[\"authenticated\""))
    return;
  if (client->owed > 0) {
    client->owed--;
    owed--;
  }
  if (client->state == JOINING) advance(client, at);
}

static size_t take_upgrade(struct client *client, const char *bytes,
                           size_t size, uint64_t at) {
  const char *end = memmem(bytes, size, "\r\n\r\n", 4);
  if (!end) return 0;
  if (!begins(bytes, size, "HTTP/1.1 101")) {
    /* A server that stops refuses like one that is gone. */
    if (!again || !begins(bytes, size, "HTTP/1.1 503")) note_error(bytes, 12);
    lose(client);
    return 0;
  }
  advance(client, at);
  return (size_t)(end - bytes) + 4;
}

/* Takes all complete frames. @returns how many bytes they had */
static size_t take(struct client *client, const char *bytes, size_t size,
                   uint64_t now_is) {
  size_t at = 0;
  if (client->state == UPGRADING) {
    at = take_upgrade(client, bytes, size, now_is);
    if (at == 0) return 0;
  }
  while (client->state != CLOSED && size - at >= 2) {
    const unsigned char *head = (const unsigned char *)bytes + at;
    uint64_t length = head[1] & 127;
    size_t header = length == 126 ? 4 : length == 127 ? 10 : 2;
    if (size - at < header) break;
    if (header > 2) length = 0;
    for (size_t i = 2; i < header; i++) length = length << 8 | head[i];
    if (size - at - header < length) break;
    const char *body = bytes + at + header;
    at += header + length;
    int kind = head[0] & 15;
    if (kind == 1) take_text(client, body, length, now_is);
    else if (kind == 8) lose(client);
    else if (kind == 9) {
      char pong[131] = {(char)0x8a, (char)(0x80 | length)};
      memcpy(pong + 6, body, length);
      transmit(client, pong, length + 6);
    }
  }
  return at;
}

static void receive(struct client *client) {
  size_t kept = client->rest_size;
  if (kept > 0) memcpy(buffer, client->rest, kept);
  ssize_t size = recv(client->fd, buffer + kept, READ_SIZE - kept, 0);
  if (size <= 0) {
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) lose(client);
    return;
  }
  bytes_read += (uint64_t)size;
  size_t all = kept + (size_t)size;
  size_t taken = take(client, buffer, all, now());
  if (client->state == CLOSED) return;
  size_t rest = all - taken;
  client->rest_size = rest;
  if (rest == 0) {
    if (client->rest_room <= KEPT_SIZE) return;
    free(client->rest);
    client->rest = NULL;
    client->rest_room = 0;
    return;
  }
  if (rest >= READ_SIZE) {
    errno = EMSGSIZE;
    fail("a frame");
  }
  if (rest > client->rest_room) {
    client->rest = realloc(client->rest, rest);
    if (!client->rest) fail("memory");
    client->rest_room = rest;
  }
  memcpy(client->rest, buffer + taken, rest);
}

static void drain(struct client *client) {
  ssize_t done = send(client->fd, client->out, client->out_size, MSG_NOSIGNAL);
  if (done < 0) {
    if (errno != EAGAIN && errno != ENOTCONN) lose(client);
    return;
  }
  client->out_size -= (size_t)done;
  memmove(client->out, client->out + done, client->out_size);
  if (client->out_size > 0) return;
  free(client->out);
  client->out = NULL;
  watch(client, EPOLLIN);
}

/* Reads and writes as far as epoll allows. */
void serve(struct client *client, uint32_t events) {
  if (client->state == CLOSED) return;
  if (events & EPOLLOUT && client->out_size > 0) drain(client);
  if (client->state == CLOSED) return;
  if (client->state == STALLED && !(events & (EPOLLHUP | EPOLLERR))) return;
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) receive(client);
}
