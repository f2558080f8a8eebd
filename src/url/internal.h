/* What the files of src/url share. */
#ifndef URL_INTERNAL_H
#define URL_INTERNAL_H

#include "url/url.h"

/* Four decimal numbers up to 255 without leading zeros, and nothing else. */
bool url_read_ipv4(struct slice text, uint8_t ret_bytes[4]);

/* What stands between the brackets of an IPv6 address, without a zone. */
bool url_read_ipv6(struct slice text, uint16_t ret_groups[8]);

/* Their canonical texts; an IPv6 address that is an IPv4 address is written as that one. */
void url_write_ipv4(const uint8_t bytes[4], struct url_host *ret_host);
void url_write_ipv6(const uint16_t groups[8], struct url_host *ret_host);

#endif
