/* A directory that one process at a time works in. The lock is the kernel's, on the directory itself: it ends
 * with the process, however that ends, and leaves no file. */
#include <hopbound/base.h>

#if defined(__unix__) || defined(__APPLE__)
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

hop_status hop_dir_lock(hop_lock *l, const char *dir, hop_error *err)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    l->held = false;
    if (fd < 0) return hop_fail(err, HOP_EIO, "%s: %s", dir, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        bool taken = errno == EWOULDBLOCK;
        close(fd);
        return taken ? hop_fail(err, HOP_EIO, "%s: another process works in it", dir) : HOP_OK;
    }
    *l = (hop_lock){fd, true};
    return HOP_OK;
}

void hop_dir_unlock(hop_lock *l)
{
    if (l->held) close(l->fd);
    l->held = false;
}
#else
hop_status hop_dir_lock(hop_lock *l, const char *dir, hop_error *err)
{
    (void)dir, (void)err;
    l->held = false;
    return HOP_OK;
}

void hop_dir_unlock(hop_lock *l)
{
    l->held = false;
}
#endif
