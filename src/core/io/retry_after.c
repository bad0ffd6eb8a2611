/* retry_after.c -- reads the time at which a busy server wants the next attempt (RFC 9110, 10.2.3),
 * which is a number of seconds or a date. Some services write a duration with units. See http.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <time.h>

#include "base/num.h"
#include "io/http.h"

#include "base/banned.h"

/* Reads a date such as "Wed, 21 Oct 2099 07:28:00 GMT". */
static bool read_date(pdl_str s, double *out) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm = {0};
    int64_t day, year, h, m, sec;
    if (s.n != 29 || s.p[3] != ',' || s.p[19] != ':' || s.p[22] != ':' ||
        !pdl_str_ends(s, PDL_STR("GMT")))
        return false;
    size_t month = pdl_str_find((pdl_str){months, 36}, pdl_str_sub(s, 8, 11), 0);
    if (month == PDL_NOT_FOUND || month % 3) return false;
    if (!pdl_num_read_int(pdl_str_sub(s, 5, 7), &day) ||
        !pdl_num_read_int(pdl_str_sub(s, 12, 16), &year))
        return false;
    if (!pdl_num_read_int(pdl_str_sub(s, 17, 19), &h) ||
        !pdl_num_read_int(pdl_str_sub(s, 20, 22), &m))
        return false;
    if (!pdl_num_read_int(pdl_str_sub(s, 23, 25), &sec)) return false;
    tm.tm_mday = (int)day;
    tm.tm_mon = (int)(month / 3);
    tm.tm_year = (int)year - 1900;
    tm.tm_hour = (int)h;
    tm.tm_min = (int)m;
    tm.tm_sec = (int)sec;
    *out = (double)timegm(&tm);
    return true;
}

double pdl_http_span(pdl_str s) {
    double sum = 0, v;
    for (size_t i = 0; i < s.n;) {
        size_t from = i;
        while (i < s.n && ((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '.')) i++;
        if (!pdl_num_read_double(pdl_str_sub(s, from, i), &v)) return -1;
        pdl_str rest = pdl_str_sub(s, i, s.n);
        if (pdl_str_starts(rest, PDL_STR("ms")))
            sum += v / 1e3, i += 2;
        else if (pdl_str_starts(rest, PDL_STR("s")))
            sum += v, i++;
        else if (pdl_str_starts(rest, PDL_STR("m")))
            sum += v * 60, i++;
        else if (pdl_str_starts(rest, PDL_STR("h")))
            sum += v * 3600, i++;
        else if (!rest.n)
            sum += v;
        else
            return -1;
    }
    return s.n ? sum : -1;
}

double pdl_http_retry_after(const pdl_http_reply *r, double now_s, bool *is_date) {
    double v;
    pdl_str s = pdl_http_header(r, "Retry-After");
    *is_date = false;
    if (s.n == 0) return -1;
    if (pdl_num_read_double(s, &v)) return v >= 0 ? v : -1;
    if ((v = pdl_http_span(s)) >= 0) return v;
    *is_date = read_date(s, &v);
    return !*is_date ? -1 : v > now_s ? v - now_s : 0;
}
