/* banned.h -- forbids functions. Every .c file includes it last, so that a use of a forbidden
 * function is a compile error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_BANNED_H
#define PDL_BASE_BANNED_H

#undef alloca /* in glibc this is a macro of <stdlib.h> */

#pragma GCC poison malloc calloc realloc free strdup strndup
#pragma GCC poison strcpy strcat sprintf vsprintf strncpy strncat strtok atoi atol atof gets
#pragma GCC poison gmtime localtime asctime ctime alloca system popen tmpnam mktemp

#endif
