/* xml.h -- text inside of HTML, SVG and XML that can never become markup.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_XML_H
#define PDL_BASE_XML_H

#include "base/buf.h"

/* Appends s as the text of an element or the value of an attribute in double quotes. Control
 * characters, which XML cannot represent, become question marks. */
void pdl_xml_put(pdl_buf *out, pdl_str s);
/* Appends JSON as the content of a script element, which no text in the JSON can end. */
void pdl_xml_put_json(pdl_buf *out, pdl_str json);

#endif
