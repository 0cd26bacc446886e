#ifndef RELAY_FINGERPRINT_H
#define RELAY_FINGERPRINT_H

#include "relay/options.h"
#include "source/fingerprint.h"

/* The fingerprint of a configuration. What all relays of a table must share anyway (where, mark,
 * key, order: catalog/adoption.h) is not in it, nor what a running relay can change. */
void fingerprint_make(struct fingerprint *fingerprint, const struct relay_options *options);

#endif
