/* Preloaded into a program, it makes a lookup of a name that ends in ".hangs.test" take ten
 * minutes, as one does whose name servers are silent, only longer, and gives "four.addresses.test"
 * the addresses 127.0.0.11 to 13 and 127.0.0.1. As a plugin of librdkafka its start takes as long.
 */

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

static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int find_four(const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
    static const char *const addresses[] = {"127.0.0.11", "127.0.0.12", "127.0.0.13", "127.0.0.1"};

    for (int i = 0; i < 4; i++) {
        int status = next(addresses[i], service, hints, out);

        if (status != 0)
            return status;
        while (*out != NULL)
            out = &(*out)->ai_next;
    }
    return 0;
}

int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    if (name != NULL && strcmp(name, "four.addresses.test") == 0)
        return find_four(service, hints, out);
    if (!hangs(name))
        return next(name, service, hints, out);
    hang();
    return EAI_AGAIN;
}
