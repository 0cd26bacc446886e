#include "broker/kafka/kafka.h"
#include "test.h"

#include <librdkafka/rdkafka.h>

/* By their numbers in Kafka's protocol or in librdkafka, so that the table is compared with
 * something other than itself. */

TEST(only_no_error_is_an_acknowledgement)
{
    for (int code = -300; code <= 300; code++)
        assert_int_equal(kafka_class_of(code) == KAFKA_ACKNOWLEDGED, code == 0);
}

TEST(only_errors_about_a_record_reject_the_record)
{
    for (int code = -300; code <= 300; code++) {
        bool about_a_record = code == 10 /* MSG_SIZE_TOO_LARGE */ ||
                              code == 17 /* INVALID_TOPIC */ ||
                              code == 18 /* RECORD_LIST_TOO_LARGE */ ||
                              code == 87 /* INVALID_RECORD */ || code == -186 /* _INVALID_ARG */;

        if ((kafka_class_of(code) == KAFKA_POISON) != about_a_record)
            fail_msg("%d (%s)", code, rd_kafka_err2name(code));
    }
    assert_int_equal(kafka_class_of(-138), KAFKA_UNKNOWN_ERROR); /* _INVALID_DIFFERENT_RECORD */
}

TEST(a_code_that_nobody_has_given_yet_is_unknown)
{
    assert_int_equal(kafka_class_of(9999), KAFKA_UNKNOWN_ERROR);
    assert_int_equal(kafka_class_of(INT16_MIN), KAFKA_UNKNOWN_ERROR);
}
