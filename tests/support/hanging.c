/* Preloaded into a program, it makes a lookup of a name that ends in ".hangs.test" take ten minutes,
 * as one does whose name servers are silent, only longer. As a plugin of librdkafka its start takes
 * as long. */

#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <time.h>

static void hang(void)
{
    (void)nanosleep(&(struct timespec){600, 0}, NULL);
}

int conf_init(void *conf, void **opaque, char *why, size_t size);

int conf_init(void *conf, void **opaque, char *why, size_t size)
{
    (void)conf;
    (void)opaque;
    (void)why;
    (void)size;
    hang();
    return 0;
}

static int hangs(const char *name)
{
    static const char ending[] = ".hangs.test";
    size_t len = name != NULL ? strlen(name) : 0;

    return len >= strlen(ending) && strcmp(name + len - strlen(ending), ending) == 0;
}

int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    if (!hangs(name))
        return next(name, service, hints, out);
    hang();
    return EAI_AGAIN;
}
