#include "outbox/slices/questions.h"
#include "test.h"

TEST(a_token_is_32_hexadecimal_digits)
{
    struct questions questions = {.count = 0};
    static const char *const refused[] = {
        "", "0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0",
        "0123456789ABCDEF0123456789abcdef", "0123456789abcdef0123456789abcde;"};

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        questions_ask(&questions, refused[i]);
    assert_int_equal(questions.count, 0);
    for (int i = 0; i < QUESTIONS_MAX + 1; i++)
        questions_ask(&questions, "0123456789abcdef0123456789abcdef");
    assert_int_equal(questions.count, QUESTIONS_MAX);
}
