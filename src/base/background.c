#include "base/background.h"

#include <sched.h>

static const struct sched_param none;

int background_enter(void)
{
    int policy = sched_getscheduler(0);

    if (policy == SCHED_OTHER)
        (void)sched_setscheduler(0, SCHED_BATCH, &none);
    return policy;
}

void background_leave(int policy)
{
    if (policy == SCHED_OTHER)
        (void)sched_setscheduler(0, SCHED_OTHER, &none);
}
