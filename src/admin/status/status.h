#ifndef ADMIN_STATUS_STATUS_H
#define ADMIN_STATUS_STATUS_H

#include "admin/admin.h"
#include "pg/session.h"
#include "source/fingerprint.h"
#include "source/status.h"

/*
 * The document of source/status.h is the work of sections, the files of admin/status/sql/. Each
 * gets the document so far as its only parameter. Those that are used for "figures" and "storage"
 * return an object, which is added; those for "attention" and "health", and for "answers" where
 * relays were asked, return findings, a row each. Those for "health" are sections of `check`, too
 * (catalog/inspect.h). Each section runs alone, so that one that PostgreSQL refuses
 * hides no other. Its head says what the section is called, and which fields the document has
 * without it.
 */

#endif
