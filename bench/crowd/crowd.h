/* The declarations that the parts of the generator share. crowd.c describes it. */
#ifndef CROWD_H
#define CROWD_H
#define _GNU_SOURCE
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS 1000000000ull
#define MS 1000000ull
#define MAX_CLIENTS 65536
#define MAX_STEPS 16
/* Messages of several senders may be stored in another order than they were sent, but
 * not so many later. It is a power of two. */
#define WINDOW 1024

enum state { CLOSED, UPGRADING, JOINING, JOINED, STALLED };

/* The frames of a client: each is sent after the answer to the frame before. */
struct script {
  char *frames[MAX_STEPS];
  uint32_t steps;
};

struct client {
  int fd;
  enum state state;
  uint32_t step; /* of the script: how many frames were sent */
  uint32_t room;
  const struct script *script;
  bool small;      /* with small buffers in the kernel */
  uint64_t begun;  /* when the connection was begun, in nanoseconds */
  uint64_t due;    /* when it begins again; 0 for never */
  uint64_t base;   /* the first message that it has to get; 0 before it joined */
  uint64_t high;   /* the highest number that came */
  uint64_t event;  /* the id of the last event that came */
  uint32_t owed;   /* frames that it sent and that have no answer yet */
  uint64_t seen[WINDOW / 64]; /* whether each of the last messages has come */
  char *rest;      /* bytes of a frame that is not complete */
  size_t rest_size, rest_room;
  char *out;       /* bytes that the socket did not take */
  size_t out_size;
};

/* crowd.c */
extern struct client clients[MAX_CLIENTS];
extern uint32_t count;
extern uint32_t joined; /* how many have run their script */
uint64_t now(void);
_Noreturn void fail(const char *why);

/* client.c */
extern struct sockaddr_in address;
extern const char *path, *prefix;
extern int polling; /* the descriptor of epoll */
extern char **rooms;
extern uint64_t *sent; /* the number of the last message in each room */
extern uint32_t room_count;
extern char *on_delivery;
extern uint64_t again; /* lost clients begin again after this time; 0 for never */
extern uint32_t number; /* the number of the first client among all processes */
void begin(struct client *client);
void say(struct client *client, const char *text, uint64_t seq, uint64_t event);
void serve(struct client *client, uint32_t events);
void stall(struct client *client, bool stalls);

/* text.c */
void set_tokens(const char *file);
void set_choices(char *words);
size_t fill(char *to, size_t most, const char *text,
            const struct client *client, uint64_t seq, uint64_t event);

/* measure.c */
extern uint64_t delivered, bytes_read, refused, closed;
extern uint64_t owed; /* frames that have no answer yet */
void begin_measure(void);
void note_joined(struct client *client, uint64_t at);
void note_delivery(struct client *client, uint64_t at, uint64_t sent_at,
                   uint64_t seq, uint64_t event);
void note_loss(uint64_t at);
void note_error(const char *text, size_t size);
uint64_t missing(void);
void print_report(uint32_t order);
#endif
