/* time.c -- dates and datetimes of pyvalues.h: the calendar is the proleptic Gregorian one, for the
 * years 1 to 9999; there are no data about time zones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <time.h>

#include "base/hash.h"
#include "value/obj.h"
#include "value/pyvalues.h"

#include "base/banned.h"

typedef struct {
    pdl_obj head;
    pdl_time t;
} timeobj;

pdl_time pdl_time_get(pdl_vref v) { return ((const timeobj *)(const void *)pdl_obj_of(v))->t; }

static const int days_before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

static bool is_leap(int y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }

static int days_in(int y, int m) {
    return days_before[m] - days_before[m - 1] + (m == 2 && is_leap(y));
}

/* Returns the day of the year, counted from 0. */
static int year_day(const pdl_time *t) {
    return days_before[t->month - 1] + (t->month > 2 && is_leap(t->year)) + t->day - 1;
}

/* Returns the days since 1 January of year 1, which was a Monday. */
static int64_t day_number(const pdl_time *t) {
    int64_t y = t->year - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + year_day(t);
}

/* Days since year 1, and microseconds of the day; in UTC when there is a zone. */
typedef struct {
    int64_t day, usec;
} instant;

static instant instant_of(pdl_vref v) {
    pdl_time t = pdl_time_get(v);
    instant at = {day_number(&t), 0};
    if (pdl_is(v, PDL_V_DATE)) return at;
    int64_t s =
        (int64_t)t.hour * 3600 + t.minute * 60 + t.second - (t.has_zone ? t.zone_seconds : 0);
    enum { DAY = 86400 };
    while (s < 0) s += DAY, at.day--;
    while (s >= DAY) s -= DAY, at.day++;
    at.usec = s * 1000000 + t.usec;
    return at;
}

bool pdl_time_is_zoned(pdl_vref v) { return pdl_time_get(v).has_zone; }

int pdl_time_cmp(pdl_vref a, pdl_vref b) {
    instant x = instant_of(a), y = instant_of(b);
    if (x.day != y.day) return x.day < y.day ? -1 : 1;
    return (x.usec > y.usec) - (x.usec < y.usec);
}

uint32_t pdl_time_hash(pdl_vref v) {
    instant at = instant_of(v);
    return pdl_hash_u64((uint64_t)at.day * 86400000000u + (uint64_t)at.usec);
}

static bool bad(pdl_err *err, const char *why) {
    return pdl_err_host(err, "ValueError", "%s", why);
}

static bool date_ok(const pdl_time *t, pdl_err *err) {
    if (t->year < 1 || t->year > 9999)
        return pdl_err_host(err, "ValueError", "year %d is out of range", t->year);
    if (t->month < 1 || t->month > 12) return bad(err, "month must be in 1..12");
    if (t->day < 1 || t->day > days_in(t->year, t->month))
        return bad(err, "day is out of range for month");
    return true;
}

static bool clock_ok(const pdl_time *t, pdl_err *err) {
    if (t->hour < 0 || t->hour > 23) return bad(err, "hour must be in 0..23");
    if (t->minute < 0 || t->minute > 59) return bad(err, "minute must be in 0..59");
    if (t->second < 0 || t->second > 59) return bad(err, "second must be in 0..59");
    if (t->usec < 0 || t->usec > 999999) return bad(err, "microsecond must be in 0..999999");
    if (t->has_zone && (t->zone_seconds <= -86400 || t->zone_seconds >= 86400))
        return bad(err, "offset must be a timedelta strictly between -timedelta(hours=24) and "
                        "timedelta(hours=24).");
    return true;
}

static pdl_val time_val(pdl_tag tag, const pdl_time *t) {
    timeobj *o = pdl_obj_new(tag, sizeof *o);
    o->t = *t;
    return pdl_from_obj(tag, &o->head, 0);
}

bool pdl_date_new(const pdl_time *t, pdl_val *out, pdl_err *err) {
    if (!date_ok(t, err)) return false;
    pdl_time day = {.year = t->year, .month = t->month, .day = t->day};
    *out = time_val(PDL_V_DATE, &day);
    return true;
}

bool pdl_datetime_new(const pdl_time *t, pdl_val *out, pdl_err *err) {
    if (!date_ok(t, err) || !clock_ok(t, err)) return false;
    *out = time_val(PDL_V_DATETIME, t);
    return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads exactly n digits at *s. */
static bool digits(pdl_str *s, size_t n, int *out) {
    if (s->n < n) return false;
    int v = 0;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9') return false;
        v = v * 10 + (s->p[i] - '0');
    }
    *s = pdl_str_sub(*s, n, s->n);
    *out = v;
    return true;
}

static bool skip(pdl_str *s, char c) {
    if (!s->n || s->p[0] != c) return false;
    *s = pdl_str_sub(*s, 1, s->n);
    return true;
}

/* Reads the digits after the dot. Digits beyond microseconds are dropped. */
static bool read_fraction(pdl_str *s, int *usec) {
    size_t n = 0;
    int v = 0;
    for (; n < s->n && s->p[n] >= '0' && s->p[n] <= '9'; n++)
        if (n < 6) v = v * 10 + (s->p[n] - '0');
    for (size_t i = n; i < 6; i++) v *= 10;
    *s = pdl_str_sub(*s, n, s->n);
    *usec = v;
    return n > 0;
}

static bool read_zone(pdl_str *s, pdl_time *t) {
    if (!s->n) return true;
    t->has_zone = true;
    if (skip(s, 'Z')) return true;
    bool west = skip(s, '-');
    int h, m = 0, sec = 0;
    if (!west && !skip(s, '+')) return false;
    if (!digits(s, 2, &h)) return false;
    bool colon = skip(s, ':');
    if ((colon || s->n) && !digits(s, 2, &m)) return false;
    if (s->n && (skip(s, ':') != colon || !digits(s, 2, &sec))) return false;
    if (h > 23 || m > 59 || sec > 59) return false;
    t->zone_seconds = (h * 3600 + m * 60 + sec) * (west ? -1 : 1);
    return true;
}

static bool read_clock(pdl_str *s, pdl_time *t) {
    if (!digits(s, 2, &t->hour)) return false;
    if (skip(s, ':')) {
        if (!digits(s, 2, &t->minute)) return false;
        if (skip(s, ':')) {
            if (!digits(s, 2, &t->second)) return false;
            if ((skip(s, '.') || skip(s, ',')) && !read_fraction(s, &t->usec)) return false;
        }
    }
    return read_zone(s, t) && s->n == 0;
}

bool pdl_time_read(pdl_str iso, bool *is_date, pdl_time *out) {
    pdl_time t = {0};
    pdl_str s = iso;
    if (!digits(&s, 4, &t.year) || !skip(&s, '-') || !digits(&s, 2, &t.month) || !skip(&s, '-') ||
        !digits(&s, 2, &t.day))
        return false;
    bool date = s.n == 0;
    if (!date) {
        s = pdl_str_sub(s, 1, s.n); /* any separator */
        if (!read_clock(&s, &t)) return false;
    }
    pdl_err err = {0};
    bool ok = date_ok(&t, &err) && clock_ok(&t, &err);
    pdl_err_fini(&err);
    if (!ok) return false;
    *is_date = date;
    *out = t;
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Appends a zone such as "+05:30", with its seconds if it has some. Without `colons`, leaves the
 * colons out. */
static void put_zone(const pdl_time *t, bool colons, pdl_buf *out) {
    int z = t->zone_seconds < 0 ? -t->zone_seconds : t->zone_seconds;
    const char *sep = colons ? ":" : "";
    pdl_buf_putf(out, "%c%02d%s%02d", t->zone_seconds < 0 ? '-' : '+', z / 3600, sep, z / 60 % 60);
    if (z % 60) pdl_buf_putf(out, "%s%02d", sep, z % 60);
}

void pdl_time_iso(pdl_vref v, char sep, pdl_buf *out) {
    pdl_time t = pdl_time_get(v);
    pdl_buf_putf(out, "%04d-%02d-%02d", t.year, t.month, t.day);
    if (pdl_is(v, PDL_V_DATE)) return;
    pdl_buf_putf(out, "%c%02d:%02d:%02d", sep, t.hour, t.minute, t.second);
    if (t.usec) pdl_buf_putf(out, ".%06d", t.usec);
    if (t.has_zone) put_zone(&t, true, out);
}

static struct tm to_tm(const pdl_time *t) {
    struct tm tm = {0};
    tm.tm_year = t->year - 1900;
    tm.tm_mon = t->month - 1;
    tm.tm_mday = t->day;
    tm.tm_hour = t->hour;
    tm.tm_min = t->minute;
    tm.tm_sec = t->second;
    tm.tm_wday = (int)((day_number(t) + 1) % 7);
    tm.tm_yday = year_day(t);
    tm.tm_isdst = -1;
    return tm;
}

/* Appends one directive of the C library: % with a flag, a modifier and a letter. */
static void put_directive(const struct tm *tm, pdl_str d, pdl_buf *out) {
    char format[8], text[256];
    size_t n = d.n < sizeof format ? d.n : sizeof format - 1;
    memcpy(format, d.p, n);
    format[n] = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    size_t len = strftime(text, sizeof text, format, tm);
#pragma GCC diagnostic pop
    pdl_buf_put(out, (pdl_str){text, len});
}

/* Returns the length of the directive at the start of s: %, a flag of glibc, a width of at most two
 * digits, E or O, and a letter. */
static size_t directive_len(pdl_str s) {
    size_t i = 1;
    if (i < s.n && pdl_byte_in(s.p[i], PDL_STR("-_0^#"))) i++;
    for (size_t k = 0; k < 2 && i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; k++) i++;
    if (i < s.n && (s.p[i] == 'E' || s.p[i] == 'O')) i++;
    return i < s.n ? i + 1 : s.n;
}

bool pdl_time_strftime(pdl_vref v, pdl_str format, pdl_val *out, pdl_err *err) {
    pdl_time t = pdl_time_get(v);
    struct tm tm = to_tm(&t);
    pdl_buf b = PDL_BUF_INIT((size_t)-1 >> 2);
    for (size_t i = 0; i < format.n;) {
        size_t next = pdl_str_find(format, PDL_STR("%"), i);
        if (next == PDL_NOT_FOUND) next = format.n;
        pdl_buf_put(&b, pdl_str_sub(format, i, next));
        if (next == format.n) break;
        pdl_str rest = pdl_str_sub(format, next, format.n);
        size_t n = directive_len(rest);
        char c = rest.p[n - 1];
        if (n == 2 && c == 'f') {
            pdl_buf_putf(&b, "%06d", t.usec);
        } else if (n == 2 && (c == 'z' || c == 'Z')) {
            if (t.has_zone && c == 'Z') PDL_PUT(&b, "UTC");
            if (t.has_zone && (c == 'z' || t.zone_seconds)) put_zone(&t, c == 'Z', &b);
        } else if ((unsigned char)c < 0x80 && n > 1) {
            put_directive(&tm, pdl_str_sub(rest, 0, n), &b);
        } else {
            n = 1; /* a % alone means itself */
            pdl_buf_putc(&b, '%');
        }
        i = next + n;
        if (b.len > (size_t)1 << 30) {
            pdl_buf_fini(&b);
            return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "formatted time is too long");
        }
    }
    *out = pdl_with_label(pdl_text_of_buf(&b), pdl_label_of(v));
    return true;
}
