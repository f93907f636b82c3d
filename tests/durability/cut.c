/* Loaded with LD_PRELOAD into everything that touches CUT_DIR: tells, in order and over all processes, what was written
   to the files in it and what of that was synced (CUT_LOG), lets writes and syncs of the database fail (CUT_CONTROL),
   and makes each sync take so many microseconds longer (CUT_SLOW).
   Records and the control's words are described in shim.py, which reads and writes them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { TRACKED = 1, DATABASE = 2, WAL = 4 };                      /* of a descriptor */
enum { SEEN, FAIL_AT, KIND, ERRNO, ONCE, FAILED, WAL_SYNCS, SYNCS, WORDS }; /* of the control */
struct record { char op, pad[3]; uint32_t length; uint64_t inode, token, offset; };

static char directory[PATH_MAX], database[NAME_MAX + 1];
static size_t directory_length;
static unsigned char kinds[65536];
static uint64_t inodes[65536], counter;
static uint64_t *control;
static int out = -1;
static useconds_t slow;

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define KNOWN(fd) ((fd) >= 0 && (fd) < 65536 && kinds[fd])
#define COUNT(word) (control ? __atomic_add_fetch(&control[word], 1, __ATOMIC_SEQ_CST) : 0)

__attribute__((constructor)) static void begin(void) {
    const char *where = getenv("CUT_DIR"), *name = getenv("CUT_DB"), *log = getenv("CUT_LOG"), *words = getenv("CUT_CONTROL");
    if (!where || !name) return;
    if (getenv("CUT_SLOW")) slow = atoi(getenv("CUT_SLOW"));
    snprintf(directory, sizeof directory, "%s", where);
    snprintf(database, sizeof database, "%s", name);
    directory_length = strlen(directory);
    int (*opening)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    if (log) out = opening(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int fd = words ? opening(words, O_RDWR | O_CLOEXEC) : -1;
    void *mapped = fd < 0 ? MAP_FAILED : mmap(0, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) control = mapped;
}

static void tell(char op, uint64_t inode, uint64_t token, uint64_t offset, const void *data, size_t length) {
    struct record record = {op, {0}, length, inode, token, offset};
    struct iovec parts[2] = {{&record, sizeof record}, {(void *)data, length}};
    int kept = errno;
    if (out >= 0 && writev(out, parts, 2) < 0) abort();
    errno = kept;
}

/* The name of a file directly in the directory; "" for the directory itself, NULL for anything else. */
static const char *name_of(const char *path) {
    if (!directory_length || strncmp(path, directory, directory_length)) return NULL;
    path += directory_length;
    if (!*path) return path;
    size_t length = strlen(path);
    if (*path != '/' || strchr(path + 1, '/') || (length > 4 && !strcmp(path + length - 4, "-shm"))) return NULL;
    return path + 1;
}

static int opened(int fd, const char *name, int existed) {
    struct stat found;
    if (fd < 0 || fd >= 65536) return fd;
    kinds[fd] = 0;
    if (!name || fstat(fd, &found)) return fd;
    inodes[fd] = found.st_ino;
    const char *end = strncmp(name, database, strlen(database)) ? NULL : name + strlen(database);
    kinds[fd] = TRACKED | (end && (!*end || !strcmp(end, "-wal") || !strcmp(end, "-journal")) ? DATABASE : 0)
        | (end && !strcmp(end, "-wal") ? WAL : 0);
    if (!existed) tell('C', found.st_ino, 0, 0, name, strlen(name));
    return fd;
}

#define OPEN(symbol) int symbol(const char *path, int flags, ...) { \
    REAL(symbol); va_list more; va_start(more, flags); int mode = va_arg(more, int); va_end(more); \
    const char *name = name_of(path); int existed = !name || !access(path, F_OK); \
    int fd = opened(real(path, flags, mode), name, existed); \
    if (KNOWN(fd) && existed && (flags & O_TRUNC)) tell('T', inodes[fd], 0, 0, "", 0); \
    return fd; }
OPEN(open)
OPEN(open64)

int close(int fd) { REAL(close); if (KNOWN(fd)) kinds[fd] = 0; return real(fd); }

static int fails(int fd, uint64_t kind) {
    if (!control || !(kinds[fd] & DATABASE) || control[KIND] != kind || !control[FAIL_AT]) return 0;
    uint64_t seen = COUNT(SEEN), at = control[FAIL_AT];
    if (control[ONCE] ? seen != at : seen < at) return 0;
    COUNT(FAILED);
    errno = control[ERRNO];
    return 1;
}

static ssize_t wrote(int fd, ssize_t done, const void *data, off_t offset) {
    if (KNOWN(fd) && done > 0) tell('W', inodes[fd], 0, offset < 0 ? lseek(fd, 0, SEEK_CUR) - done : offset, data, done);
    return done;
}
ssize_t write(int fd, const void *data, size_t n) { REAL(write); if (KNOWN(fd) && fails(fd, 1)) return -1; return wrote(fd, real(fd, data, n), data, -1); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { REAL(pwrite); if (KNOWN(fd) && fails(fd, 1)) return -1; return wrote(fd, real(fd, data, n, at), data, at); }
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { REAL(pwrite64); if (KNOWN(fd) && fails(fd, 1)) return -1; return wrote(fd, real(fd, data, n, at), data, at); }

static int cut_off(int fd, int status, off_t at) { if (!status && KNOWN(fd)) tell('T', inodes[fd], 0, at, "", 0); return status; }
int ftruncate(int fd, off_t at) { REAL(ftruncate); return cut_off(fd, real(fd, at), at); }
int ftruncate64(int fd, off64_t at) { REAL(ftruncate64); return cut_off(fd, real(fd, at), at); }

static int synced(int fd, int (*real)(int)) {
    if (!KNOWN(fd)) return real(fd);
    uint64_t token = (uint64_t)getpid() << 32 | __atomic_add_fetch(&counter, 1, __ATOMIC_SEQ_CST);
    tell('B', inodes[fd], token, 0, "", 0);
    if (kinds[fd] & DATABASE) COUNT(SYNCS);
    if (kinds[fd] & WAL) COUNT(WAL_SYNCS);
    if (slow) usleep(slow);
    int status = fails(fd, 2) ? -1 : real(fd);
    if (!status) tell('E', inodes[fd], token, 0, "", 0);
    return status;
}
int fsync(int fd) { REAL(fsync); return synced(fd, real); }
int fdatasync(int fd) { REAL(fdatasync); return synced(fd, real); }

int unlink(const char *path) {
    REAL(unlink); const char *name = name_of(path); int status = real(path);
    if (!status && name) tell('U', 0, 0, 0, name, strlen(name));
    return status;
}
int rename(const char *from, const char *to) {
    REAL(rename); const char *old = name_of(from), *new = name_of(to); char both[2 * NAME_MAX + 2]; int status = real(from, to);
    if (!status && old && new) { int n = snprintf(both, sizeof both, "%s%c%s", old, 1, new); tell('R', 0, 0, 0, both, n); }
    return status;
}
int link(const char *from, const char *to) {
    REAL(link); const char *old = name_of(from), *new = name_of(to); char both[2 * NAME_MAX + 2]; int status = real(from, to);
    if (!status && old && new) { int n = snprintf(both, sizeof both, "%s%c%s", old, 1, new); tell('L', 0, 0, 0, both, n); }
    return status;
}
