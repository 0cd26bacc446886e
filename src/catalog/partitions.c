#include "catalog/partitions.h"

#include "base/log.h"

bool partitions_say(const PGresult *notes)
{
    for (int row = 0; row < PQntuples(notes); row++)
        if (PQgetvalue(notes, row, 0)[0] != '\0')
            log_warn("%s", PQgetvalue(notes, row, 0));
    return PQntuples(notes) > 0;
}
