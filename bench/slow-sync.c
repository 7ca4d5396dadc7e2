/* Preloaded into a process, makes each sync of a file take 4 ms, as on an
 * ordinary disk, whatever the disk is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait_for_disk(void) {
  struct timespec pause = {0, 4000000};
  nanosleep(&pause, 0);
}

int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fsync");
  wait_for_disk();
  return real(fd);
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
  wait_for_disk();
  return real(fd);
}
