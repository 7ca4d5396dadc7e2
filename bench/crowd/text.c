/* Replaces the words in braces in a text. */
#include "crowd.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CHOICES 16

static char **tokens;
static size_t token_count;
static char *choices[MAX_CHOICES];
static uint32_t choice_count;

/* Reads the tokens, one a line, that {token} stands for. */
void set_tokens(const char *file) {
  FILE *stream = fopen(file, "r");
  if (!stream) fail(file);
  char *line = NULL;
  size_t size = 0;
  ssize_t length;
  while ((length = getline(&line, &size, stream)) > 0) {
    line[strcspn(line, "\n")] = 0;
    tokens = realloc(tokens, (token_count + 1) * sizeof *tokens);
    if (!tokens) fail("memory");
    tokens[token_count++] = strdup(line);
  }
  free(line);
  fclose(stream);
}

/* Takes the words that {choice} stands for, in turn. */
void set_choices(char *words) {
  char *copy = strdup(words);
  choice_count = 0;
  for (char *word = strtok(copy, " "); word && choice_count < MAX_CHOICES;
       word = strtok(NULL, " "))
    choices[choice_count++] = word;
}

/* The value of a word in braces. */
static size_t value_of(const char *word, size_t size, char *to, size_t most,
                       const struct client *client, uint64_t seq,
                       uint64_t event) {
  size_t i = number + (size_t)(client - clients);
#define IS(name) (size == strlen(name) && !memcmp(word, name, size))
#define NUMBER(value)                                                          \
  (size_t)snprintf(to, most, "%llu", (unsigned long long)(value))
#define TEXT(value) (size_t)snprintf(to, most, "%s", value)
  if (IS("i")) return NUMBER(i);
  if (IS("seq")) return NUMBER(seq);
  if (IS("ns")) return NUMBER(now());
  if (IS("event")) return NUMBER(event);
  if (IS("room") && room_count) return TEXT(rooms[client->room]);
  if (IS("token") && i < token_count) return TEXT(tokens[i]);
  if (IS("choice") && choice_count) return TEXT(choices[i % choice_count]);
  return 0;
#undef IS
#undef NUMBER
#undef TEXT
}

/* Replaces the words in braces. @returns the size of the text */
size_t fill(char *to, size_t most, const char *text,
                   const struct client *client, uint64_t seq, uint64_t event) {
  size_t size = 0;
  while (*text && size + 1 < most) {
    const char *end = *text == '{' ? strchr(text, '}') : NULL;
    size_t filled = 0;
    if (end)
      filled = value_of(text + 1, (size_t)(end - text - 1), to + size,
                        most - size, client, seq, event);
    size += filled;
    if (filled) text = end + 1;
    else to[size++] = *text++;
  }
  return size;
}
