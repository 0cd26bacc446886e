#ifndef INTEGRATION_HARNESS_SERVICES_H
#define INTEGRATION_HARNESS_SERVICES_H

/* What a test does to the servers that all tests of the run share: stop, start, kill, pause or
 * resume "nats" or "kafka". Fails the test when it cannot be done. */
void services(const char *verb, const char *server);
/* For teardowns: brings back what a test that failed has left down or paused, so that the tests
 * behind it do not fail as well. */
void services_restore(void);

#endif
